// A peer for the tests of the file backend: leader election in one JSON file, as the document of the Go package has it. It knows nothing
// of tenure.
//
// Usage: file-peer <path> <identity> <lease> <renew interval> <retry interval> <history file>
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Lease is what the file holds.
type Lease struct {
	Holder        string    `json:"holder"`
	RenewTime     time.Time `json:"renewTime"`
	LeaseDuration string    `json:"leaseDuration"`
}

// Backend is the file backend of the document.
type Backend struct {
	path string
}

// locked opens the file, locks it, reads it, and writes back what change returns.
func (b *Backend) locked(change func(*Lease) (*Lease, error)) error {
	file, err := os.OpenFile(b.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	lease := &Lease{}
	if len(content) > 0 {
		if err := json.Unmarshal(content, lease); err != nil {
			return err
		}
	}
	next, err := change(lease)
	if err != nil || next == nil {
		return err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(text, 0); err != nil {
		return err
	}
	return file.Truncate(int64(len(text)))
}

// TryAcquire acquires or renews leadership; false if another leader holds it.
func (b *Backend) TryAcquire(identity string, duration time.Duration) (bool, error) {
	acquired := false
	err := b.locked(func(lease *Lease) (*Lease, error) {
		if lease.Holder != "" && lease.Holder != identity {
			stored, err := time.ParseDuration(lease.LeaseDuration)
			if err != nil {
				return nil, err
			}
			if time.Now().Sub(lease.RenewTime) <= stored {
				return nil, nil
			}
		}
		acquired = true
		return &Lease{identity, time.Now(), duration.String()}, nil
	})
	return acquired && err == nil, err
}

var errNotLeader = errors.New("no longer the leader")

// Renew extends the lease.
func (b *Backend) Renew(identity string, duration time.Duration) error {
	return b.locked(func(lease *Lease) (*Lease, error) {
		if lease.Holder != identity {
			return nil, errNotLeader
		}
		return &Lease{identity, time.Now(), duration.String()}, nil
	})
}

// bootTime is the clock that the history is written by.
func bootTime() int64 {
	var now syscall.Timespec
	const clockBoottime = 7
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func span(text string) time.Duration {
	span, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return span
}

func main() {
	backend, identity := &Backend{os.Args[1]}, os.Args[2]
	lease, renew, retry := span(os.Args[3]), span(os.Args[4]), span(os.Args[5])
	history, err := os.OpenFile(os.Args[6], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	leading, failures := false, 0
	for {
		start := bootTime()
		if leading {
			switch err := backend.Renew(identity, lease); {
			case err == nil:
				failures = 0
				fmt.Fprintf(history, "renewed %d %d\n", start, bootTime())
			case errors.Is(err, errNotLeader):
				leading = false
				fmt.Fprintf(history, "lost %d %d\n", start, bootTime())
			default:
				failures++
				if failures >= 2 {
					leading = false
					fmt.Fprintf(history, "lost %d %d\n", start, bootTime())
				}
			}
		} else if acquired, err := backend.TryAcquire(identity, lease); err != nil {
			fmt.Fprintf(history, "failed %d %v\n", start, err)
		} else if acquired {
			leading, failures = true, 0
			fmt.Fprintf(history, "acquired %d %d\n", start, bootTime())
		}
		if leading {
			time.Sleep(renew)
		} else {
			time.Sleep(retry)
		}
	}
}
