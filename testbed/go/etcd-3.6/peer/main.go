// Runs for an office with etcd's own concurrency.Election, as a foreign peer of tenure does.
//
// usage: peer ENDPOINTS ELECTION NAME TTL
//
// It writes a line for what it comes to believe, and takes a line for what it is to do:
//
//	> elected REVISION NOW        campaigning succeeded; NOW is the boot clock, in ns
//	> resigns NOW, resigned NOW   it gives the office up
//	> lost                        the session ended
//	> armed NOW                   it watches a key of its own
//	> pushed NOW                  that key was deleted
//	> deletes NOW                 it is about to delete it
//	< campaign | resign | watch | delete
//
// "watch" in one and "delete" in another show what a commit and its push take: nobody hands over faster.
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
		case "watch":
			watch(client)
		case "delete":
			fmt.Println("deletes", now())
			_, err := client.Delete(context.Background(), probed)
			fail(err)
		default:
			fail(fmt.Errorf("unknown command %q", input.Text()))
		}
	}
}

const probed = "probe/key"

func watch(client *clientv3.Client) {
	put, err := client.Put(context.Background(), probed, "")
	fail(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events := client.Watch(ctx, probed, clientv3.WithRev(put.Header.Revision+1), clientv3.WithCreatedNotify())
	<-events
	fmt.Println("armed", now())
	<-events
	fmt.Println("pushed", now())
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
