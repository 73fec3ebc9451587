// Runs for an office with etcd's own concurrency.Election, as a foreign peer of tenure does.
//
// usage: peer ENDPOINTS ELECTION NAME TTL
//
// It writes a line for what it comes to believe, and takes a line for what it is to do:
//
//	> elected REVISION            campaigning succeeded
//	> lost                        the session ended
//	> resigned                    it gave the office up
//	< campaign | resign | leader
//
// "leader" answers with who leads: "> leader VALUE" or "> nobody".
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
			fmt.Println("elected", election.Rev())
		case "resign":
			fail(election.Resign(context.Background()))
			fmt.Println("resigned")
		case "leader":
			leader, err := election.Leader(context.Background())
			if err == concurrency.ErrElectionNoLeader {
				fmt.Println("nobody")
				break
			}
			fail(err)
			fmt.Println("leader", string(leader.Kvs[0].Value))
		default:
			fail(fmt.Errorf("unknown command %q", input.Text()))
		}
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(2)
	}
}
