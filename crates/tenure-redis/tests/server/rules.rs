//! The rules that the scripts keep.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use tenure::Backend;
use tenure::backend::{Renewal, Standing};
use tenure_redis::Secret;
use testbed::redis::{Redis, Reply, missing};
use testbed::{Proxy, Trials};

use crate::stores::CANDIDATE;
use crate::tools::{LEASE, attempt, backend, bid, block_on, plain, seat, wins};

pub(crate) fn tests(trials: Trials) -> Trials {
    trials
        .needing(missing(), "ttls_are_milliseconds_and_nothing_renewed_is_a_loss", ttls_are_milliseconds)
        .needing(missing(), "a_number_that_was_overtaken_is_not_used", a_number_that_was_overtaken_is_not_used)
        .needing(missing(), "a_bid_that_was_sent_and_not_answered_may_have_landed", an_unanswered_bid_may_have_landed)
        .needing(
            missing(),
            "what_landed_is_not_called_failed_when_nobody_can_be_told",
            what_landed_is_not_called_failed_when_nobody_can_be_told,
        )
        .needing(missing(), "a_token_is_above_the_last_also_when_the_clock_is_not", the_clock_may_be_behind)
        .needing(missing(), "a_plain_lock_is_a_holder_without_a_token", a_plain_lock_is_a_holder_without_a_token)
}

/// SEEDS 59: 1500 ms stay 1500 ms, in the record and for whoever looks; and a renewal that found nothing is a loss, not an error.
fn ttls_are_milliseconds() {
    let redis = Redis::start().unwrap();
    let left = |redis: &Redis| match redis.ask(&["PTTL", "tenure:office"]).unwrap() {
        Reply::Number(left) => left,
        other => panic!("{other:?}"),
    };
    block_on(async {
        let backend = plain(&redis.url());
        let bid = bid(&backend, Duration::from_millis(1_500));
        let grant = wins(&backend, &bid).await;
        assert!((1..=1_500).contains(&left(&redis)), "{}", left(&redis));
        let Renewal::Extended(grant) = backend.renew(&bid, &grant.version, attempt()).await.unwrap() else {
            panic!("it is ours")
        };
        assert!((1_000..=1_500).contains(&left(&redis)), "{}", left(&redis));
        redis.ask(&["DEL", "tenure:office"]).unwrap();
        let lost = backend.renew(&bid, &grant.version, attempt()).await.unwrap();
        assert!(matches!(&lost, Renewal::Mismatch(sight) if sight.held().is_none()), "{lost:?}");
        assert_eq!(redis.ask(&["EXISTS", "tenure:office"]).unwrap(), Reply::Number(0), "nothing was made");
    });
}

/// SAFETY 9: what went out and was not answered in time is unknown; what found no server is known.
fn an_unanswered_bid_may_have_landed() {
    let redis = Redis::start().unwrap();
    let proxy = Proxy::to(redis.address()).unwrap();
    block_on(async {
        let backend = plain(&redis.url_at(proxy.address()));
        // So that the server knows the scripts.
        let bid = bid(&backend, Duration::from_millis(1_500));
        wins(&backend, &bid).await;
        backend.withdraw(&bid).await.unwrap();
        proxy.mute();
        let error = backend.stand(&bid, attempt()).await.expect_err("no answer can have come");
        assert!(error.is_indeterminate() && error.is_transient(), "{error:?}");
        assert_eq!(redis.ask(&["EXISTS", "tenure:office"]).unwrap(), Reply::Number(1), "it had landed");
        proxy.heal();
        backend.withdraw(&bid).await.expect("another connection is found");
        assert_eq!(redis.ask(&["EXISTS", "tenure:office"]).unwrap(), Reply::Number(0));
    });
}

/// SAFETY 9: a withdrawal or an amendment of which nobody may be told is done all the same, and its error says that it may be.
fn what_landed_is_not_called_failed_when_nobody_can_be_told() {
    let redis = Redis::with().user("ada", "s3cret", CANDIDATE).users_only().start().unwrap();
    redis.ask(&["ACL", "SETUSER", "ada", "-publish"]).unwrap();
    block_on(async {
        let backend = backend(&redis.url(), |builder| builder.username("ada").password(Secret::text("s3cret")));
        let bid = bid(&backend, LEASE);
        wins(&backend, &bid).await;
        let administer = backend.administer().expect("it can");
        let error = administer.ask_to_resign(&seat()).await.expect_err("nobody may be told");
        assert!(error.is_indeterminate() && error.to_string().contains("PUBLISH"), "{error:?}");
        let sight = backend.inspect(&seat()).await.unwrap();
        assert!(sight.held().is_some_and(|held| held.asked_to_resign), "it is asked: {sight:?}");
        let error = backend.withdraw(&bid).await.expect_err("nobody may be told");
        assert!(error.is_indeterminate() && error.to_string().contains("PUBLISH"), "{error:?}");
        assert_eq!(redis.ask(&["EXISTS", "tenure:office"]).unwrap(), Reply::Number(0), "the office is given up");
        // Without the write there is no doubt: its own error counts.
        redis.ask(&["ACL", "SETUSER", "ada", "-del"]).unwrap();
        wins(&backend, &bid).await;
        let error = backend.withdraw(&bid).await.expect_err("it may not");
        assert!(!error.is_indeterminate() && error.to_string().contains("DEL"), "{error:?}");
    });
}

/// SAFETY 18: one whose number was drawn before another's cannot win after it, however its packets travel.
fn a_number_that_was_overtaken_is_not_used() {
    let redis = Redis::start().unwrap();
    let (address, go_on) = parting_bids(redis.address());
    block_on(async {
        let (slow, quick) = (plain(&redis.url_at(address)), plain(&redis.url()));
        // So that the server knows the scripts, and a bid is two short commands.
        let first = bid(&quick, LEASE);
        wins(&quick, &first).await;
        quick.withdraw(&first).await.unwrap();
        let late = bid(&slow, LEASE);
        let standing = tokio::spawn(async move {
            let standing = slow.stand(&late, attempt()).await;
            (slow, late, standing)
        });
        let is_drawn = || {
            let counter = redis.ask(&["GET", "{tenure:office}:token"]).unwrap();
            let by_the_first = counter.text().is_some_and(|text| text.contains(&first.tenure().to_string()));
            !by_the_first
        };
        let drawn = async {
            while !is_drawn() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), drawn).await.expect("the first half arrives");
        let between = bid(&quick, LEASE);
        let token = wins(&quick, &between).await.token;
        quick.withdraw(&between).await.unwrap();
        go_on.send(()).unwrap();
        let (slow, late, standing) = standing.await.unwrap();
        assert!(matches!(standing, Ok(Standing::Held(_))), "its number is below {token:?}: {standing:?}");
        go_on.send(()).unwrap();
        assert!(wins(&slow, &late).await.token > token, "with a number of its own it wins");
    });
}

/// A way to the server on which the second half of each bid waits for leave.
fn parting_bids(server: SocketAddr) -> (SocketAddr, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (go_on, leave) = channel();
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(server).unwrap();
        let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from, &mut to));
        part(client, server, &leave);
    });
    (address, go_on)
}

fn part(mut client: TcpStream, mut server: TcpStream, leave: &Receiver<()>) {
    let mut packet = [0; 65_536];
    while let Ok(length @ 1..) = client.read(&mut packet) {
        let packet = &packet[..length];
        let word = b"EVALSHA";
        let commands: Vec<_> =
            (0..length.saturating_sub(word.len())).filter(|at| packet[*at..].starts_with(word)).collect();
        // The header of a command is before its first word: `*<n>\r\n$7\r\n`.
        let second = commands.get(1).and_then(|at| packet[..*at].iter().rposition(|byte| *byte == b'*'));
        let cut = second.unwrap_or(length);
        server.write_all(&packet[..cut]).unwrap();
        if cut < length && leave.recv().is_ok() {
            server.write_all(&packet[cut..]).unwrap();
        }
    }
}

/// SAFETY 18: max(the last + 1, the clock), also if the clock of the server went back.
fn the_clock_may_be_behind() {
    let redis = Redis::start().unwrap();
    block_on(async {
        let backend = plain(&redis.url());
        // A number of the year 2200: the last token of a server whose clock was wrong.
        let last = 7_258_118_400_000_000_u64;
        redis.ask(&["SET", "{tenure:office}:token", &format!("{last} x.1")]).unwrap();
        for step in 1..=3 {
            let bid = bid(&backend, LEASE);
            assert_eq!(wins(&backend, &bid).await.token, Some(last + step));
            backend.withdraw(&bid).await.unwrap();
        }
    });
}

/// SAFETY 20: whoever locks by `SET NX PX` keeps us out, is seen by its value, and shows no token.
fn a_plain_lock_is_a_holder_without_a_token() {
    let redis = Redis::start().unwrap();
    block_on(async {
        let backend = plain(&redis.url());
        redis.ask(&["SET", "tenure:office", "worker-7", "NX", "PX", "60000"]).unwrap();
        let Standing::Held(sight) = backend.stand(&bid(&backend, LEASE), attempt()).await.unwrap() else {
            panic!("a lock is a lock")
        };
        let held = sight.held().expect("somebody holds it");
        assert_eq!((&*held.holder, held.tenure, held.token), ("worker-7", None, None));
        assert_eq!(redis.ask(&["GET", "tenure:office"]).unwrap().text(), Some("worker-7"));
        // And the other way round.
        redis.ask(&["DEL", "tenure:office"]).unwrap();
        wins(&backend, &bid(&backend, LEASE)).await;
        assert_eq!(redis.ask(&["SET", "tenure:office", "worker-7", "NX", "PX", "60000"]).unwrap(), Reply::Nothing);
        assert!(backend.inspect(&seat()).await.unwrap().held().is_some_and(|held| held.token.is_some()));
    });
}
