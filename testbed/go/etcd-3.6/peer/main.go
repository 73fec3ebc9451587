// Runs for an office with etcd's own concurrency.Election, as a foreign peer of tenure does.
//
// usage: peer ENDPOINTS ELECTION NAME TTL
//
// It writes a line for what it comes to believe, and takes a line for what it is to do:
//
//	> elected REVISION NOW        campaigning succeeded; NOW is the boot clock, in ns
//	> resigns NOW, resigned NOW   it gives the office up
//	> lost                        the session ended
//	< campaign | resign | probe
//
// "probe" answers with how long a commit and its push take: "> pushed NS" is from before a deletion is sent to its event.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) != 5 {
		fail(fmt.Errorf("usage: peer ENDPOINTS ELECTION NAME TTL"))
	}
	endpoints, name, value := strings.Split(os.Args[1], ","), os.Args[2], os.Args[3]
	ttl, err := strconv.Atoi(os.Args[4])
	fail(err)
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second})
	fail(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	fail(err)
	election := concurrency.NewElection(session, name)
	go func() {
		<-session.Done()
		fmt.Println("lost")
		os.Exit(1)
	}()
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		switch input.Text() {
		case "campaign":
			fail(election.Campaign(context.Background(), value))
			fmt.Println("elected", election.Rev(), now())
		case "resign":
			fmt.Println("resigns", now())
			fail(election.Resign(context.Background()))
			fmt.Println("resigned", now())
		case "probe":
			fmt.Println("pushed", probe(client))
		default:
			fail(fmt.Errorf("unknown command %q", input.Text()))
		}
	}
}

func probe(client *clientv3.Client) int64 {
	const key = "probe/key"
	put, err := client.Put(context.Background(), key, "")
	fail(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events := client.Watch(ctx, key, clientv3.WithRev(put.Header.Revision+1), clientv3.WithCreatedNotify())
	<-events
	start := now()
	_, err = client.Delete(context.Background(), key)
	fail(err)
	<-events
	return now() - start
}

func now() int64 {
	var spec unix.Timespec
	fail(unix.ClockGettime(unix.CLOCK_BOOTTIME, &spec))
	return spec.Nano()
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(2)
	}
}
