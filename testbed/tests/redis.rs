//! Redis of every kind, on the real server.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use testbed::certificates::Authority;
use testbed::redis::{Cluster, Engine, Fsync, Redis, Reply, Sentinels, missing};
use testbed::tools::OPENSSL;
use testbed::{Proxy, Trials};

fn main() {
    Trials::new()
        .at_once(2)
        .needing(missing(), "a_server_answers_on_its_own_port", a_server_answers_on_its_own_port)
        .needing(missing(), "a_frozen_server_is_silent_and_goes_on", a_frozen_server_is_silent_and_goes_on)
        .needing(missing(), "only_an_append_only_file_outlives_a_kill", only_an_append_only_file_outlives_a_kill)
        .needing(missing(), "a_wiped_server_has_forgotten_and_a_restored_one_remembers", wiped_and_restored)
        .needing(missing(), "a_revoked_user_is_refused_until_reinstated", a_revoked_user_is_refused_until_reinstated)
        .needing(
            missing().or_else(|| OPENSSL.missing()),
            "a_server_with_tls_speaks_nothing_else",
            a_server_with_tls_speaks_nothing_else,
        )
        .needing(missing(), "an_answer_is_dropped_after_the_commit", an_answer_is_dropped_after_the_commit)
        .needing(missing(), "a_failover_makes_a_replica_the_master", a_failover_makes_a_replica_the_master)
        .needing(missing(), "a_killed_master_is_replaced", a_killed_master_is_replaced)
        .needing(missing(), "a_cluster_serves_every_slot", a_cluster_serves_every_slot)
        .needing(Engine::Valkey.missing(), "valkey_answers_alone_with_sentinels_and_as_a_cluster", valkey)
        .main()
}

fn text(text: &str) -> Reply {
    Reply::Text(text.into())
}

/// Sends one line as a person at a terminal would, and returns the first line of the answer.
fn say(stream: &TcpStream, line: &str) -> std::io::Result<String> {
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut stream = stream;
    stream.write_all(format!("{line}\r\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim_end().to_owned())
}

fn a_server_answers_on_its_own_port() {
    let (one, other) = (Redis::start().unwrap(), Redis::start().unwrap());
    assert_ne!(one.address(), other.address());
    one.ask(&["SET", "key", "one"]).unwrap();
    assert_eq!(other.ask(&["GET", "key"]).unwrap(), Reply::Nothing);
    assert_eq!(say(&TcpStream::connect(one.address()).unwrap(), "EXISTS key").unwrap(), ":1");
}

fn a_frozen_server_is_silent_and_goes_on() {
    let redis = Redis::start().unwrap();
    let client = TcpStream::connect(redis.address()).unwrap();
    assert_eq!(say(&client, "PING").unwrap(), "+PONG");
    redis.freeze().unwrap();
    assert!(say(&client, "PING").is_err(), "a frozen server does not answer");
    redis.thaw().unwrap();
    assert_eq!(say(&client, "PING").unwrap(), "+PONG");
}

fn only_an_append_only_file_outlives_a_kill() {
    for (settings, kept) in [(Redis::with(), false), (Redis::with().append_only(Fsync::Always), true)] {
        let mut redis = settings.start().unwrap();
        let address = redis.address();
        redis.ask(&["SET", "key", "value"]).unwrap();
        redis.kill();
        assert!(!redis.is_running());
        assert!(TcpStream::connect(address).is_err(), "nobody listens");
        redis.restart().unwrap();
        assert_eq!(redis.address(), address);
        let expected = if kept { text("value") } else { Reply::Nothing };
        assert_eq!(redis.ask(&["GET", "key"]).unwrap(), expected);
    }
}

fn wiped_and_restored() {
    let mut redis = Redis::with().append_only(Fsync::Always).start().unwrap();
    redis.ask(&["SET", "key", "old"]).unwrap();
    assert!(redis.wipe().is_err(), "a running server is not wiped");
    let backup = redis.save().unwrap();
    redis.ask(&["SET", "key", "new"]).unwrap();
    redis.stop().unwrap();
    redis.restore(&backup).unwrap();
    redis.restart().unwrap();
    assert_eq!(redis.ask(&["GET", "key"]).unwrap(), text("old"));
    redis.kill();
    redis.wipe().unwrap();
    redis.restart().unwrap();
    assert_eq!(redis.ask(&["GET", "key"]).unwrap(), Reply::Nothing);
}

fn a_revoked_user_is_refused_until_reinstated() {
    let redis = Redis::with().user("ada", "secret", "~office:* +@all").users_only().start().unwrap();
    let connect = || TcpStream::connect(redis.address()).unwrap();
    assert!(say(&connect(), "PING").unwrap().starts_with("-NOAUTH"));
    let client = connect();
    assert_eq!(say(&client, "AUTH ada secret").unwrap(), "+OK");
    assert_eq!(say(&client, "SET office:1 x").unwrap(), "+OK");
    assert!(say(&client, "SET other x").unwrap().starts_with("-NOPERM"));
    redis.revoke("ada").unwrap();
    assert!(!say(&client, "PING").is_ok_and(|answer| answer == "+PONG"), "its connection is gone");
    assert!(say(&connect(), "AUTH ada secret").unwrap().starts_with("-WRONGPASS"));
    redis.reinstate("ada").unwrap();
    assert_eq!(say(&connect(), "AUTH ada secret").unwrap(), "+OK");
}

fn a_server_with_tls_speaks_nothing_else() {
    let authority = Authority::new().unwrap();
    let redis = Redis::with().tls_by(&authority).unwrap().start().unwrap();
    assert!(redis.url().starts_with("rediss://127.0.0.1:"));
    let client = TcpStream::connect(redis.address()).unwrap();
    assert!(!say(&client, "PING").is_ok_and(|answer| answer == "+PONG"));
    let openssl = |more: &[&str]| {
        let mut command = std::process::Command::new("openssl");
        command.args([
            "s_client",
            "-brief",
            "-verify_return_error",
            "-connect",
            &redis.address().to_string(),
            "-CAfile",
        ]);
        command.arg(authority.certificate()).args(more).stdin(std::process::Stdio::null());
        command.output().expect("openssl is there").status.success()
    };
    assert!(openssl(&["-verify_ip", "127.0.0.1"]), "the authority's certificate is trusted");
    assert!(!openssl(&["-verify_hostname", "elsewhere"]), "and good for nothing else");
}

fn an_answer_is_dropped_after_the_commit() {
    let redis = Redis::start().unwrap();
    let proxy = Proxy::to(redis.address()).unwrap();
    let client = TcpStream::connect(proxy.address()).unwrap();
    assert_eq!(say(&client, "INCR other").unwrap(), ":1");
    proxy.drop_answer_to("INCR number");
    assert_eq!(say(&client, "INCR other").unwrap(), ":2");
    assert!(!say(&client, "INCR number").is_ok_and(|answer| !answer.is_empty()), "no answer");
    assert_eq!(redis.ask(&["GET", "number"]).unwrap(), text("1"), "and yet it was done");
    assert_eq!(proxy.counts().dropped_answers, 1);
    let client = TcpStream::connect(proxy.address()).unwrap();
    assert_eq!(say(&client, "INCR number").unwrap(), ":2", "only the one");
}

fn a_failover_makes_a_replica_the_master() {
    let group = Sentinels::start(2).unwrap();
    assert_eq!(group.master().unwrap(), 0);
    let new = group.failover().unwrap();
    assert_ne!(new, 0);
    group.servers[new].ask(&["SET", "key", "value"]).unwrap();
}

fn a_killed_master_is_replaced() {
    let mut group = Sentinels::start(1).unwrap();
    group.servers[0].kill();
    let new = group.await_another(0).unwrap();
    group.servers[new].ask(&["SET", "key", "value"]).unwrap();
    group.servers[0].restart().unwrap();
    let start = std::time::Instant::now();
    while !group.is_settled() {
        assert!(start.elapsed() < Duration::from_secs(90), "the old master follows nobody");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn a_cluster_serves_every_slot() {
    let cluster = Cluster::start().unwrap();
    // These three are in the slots 12182, 5061 and 866: one for each node.
    for (key, index) in [("foo", 2), ("bar", 0), ("hello", 0)] {
        let answer = cluster.nodes[index].ask(&["SET", key, "x"]);
        assert_eq!(answer.unwrap(), text("OK"), "{key}");
    }
    assert!(cluster.nodes[0].ask(&["SET", "foo", "x"]).unwrap_err().to_string().contains("MOVED 12182"));
}

fn valkey() {
    let valkey = Redis::with().valkey().start().unwrap();
    let answer = valkey.ask(&["INFO", "server"]).unwrap();
    assert!(answer.text().unwrap().contains("server_name:valkey"), "{answer:?}");
    let group = Sentinels::with(1, Redis::with().valkey()).unwrap();
    assert_eq!(group.failover().unwrap(), 1);
    let cluster = Cluster::with(Redis::with().valkey()).unwrap();
    assert_eq!(cluster.nodes[2].ask(&["SET", "foo", "x"]).unwrap(), text("OK"));
}
