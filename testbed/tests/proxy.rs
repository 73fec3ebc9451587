//! What the proxy breaks, and that it counts what passes.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use testbed::Proxy;

/// A server that answers each line with itself, and what it has heard.
struct Echo {
    proxy: Proxy,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Echo {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::to(listener.local_addr().unwrap()).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&heard);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let heard = Arc::clone(&shared);
                std::thread::spawn(move || serve(client, &heard));
            }
        });
        Echo { proxy, heard }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.proxy.address()).expect("the proxy listens");
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        stream
    }

    fn has_heard(&self, line: &str) -> bool {
        eventually(|| self.heard.lock().unwrap().iter().any(|heard| heard == line))
    }
}

fn serve(mut client: TcpStream, heard: &Mutex<Vec<String>>) {
    let lines = BufReader::new(client.try_clone().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        heard.lock().unwrap().push(line.clone());
        let _ = writeln!(client, "{line}");
    }
}

fn eventually(look: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if look() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

fn ask(stream: &TcpStream, line: &str) -> Result<String, ErrorKind> {
    (&*stream).write_all(format!("{line}\n").as_bytes()).map_err(|error| error.kind())?;
    answer(stream)
}

/// The next line; an end of the stream is an error as well.
fn answer(stream: &TcpStream) -> Result<String, ErrorKind> {
    let mut line = String::new();
    match BufReader::new(stream).read_line(&mut line) {
        Ok(0) => Err(ErrorKind::UnexpectedEof),
        Ok(_) => Ok(line.trim_end().to_owned()),
        Err(error) => Err(error.kind()),
    }
}

#[test]
fn what_passes_is_counted() {
    let echo = Echo::new();
    let client = echo.connect();
    assert_eq!(ask(&client, "one").unwrap(), "one");
    assert_eq!(ask(&client, "three").unwrap(), "three");
    let counts = echo.proxy.counts();
    assert_eq!(counts.connections, 1);
    assert_eq!((counts.bytes_to_server, counts.packets_to_server), (10, 2));
    assert_eq!(counts.bytes_to_client, 10);
}

#[test]
fn a_large_message_passes_whole() {
    let echo = Echo::new();
    let mut client = echo.connect();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let line = "x".repeat(3_000_000) + "\n";
    let mut writer = client.try_clone().unwrap();
    let sent = line.clone();
    let sending = std::thread::spawn(move || writer.write_all(sent.as_bytes()).unwrap());
    let mut received = vec![0; line.len()];
    client.read_exact(&mut received).unwrap();
    sending.join().unwrap();
    assert_eq!(received, line.as_bytes());
}

#[test]
fn a_delay_holds_up_each_message_once() {
    let echo = Echo::new();
    let client = echo.connect();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    echo.proxy.delay(Duration::from_millis(60));
    let start = Instant::now();
    assert_eq!(ask(&client, "slow").unwrap(), "slow");
    assert!(start.elapsed() >= Duration::from_millis(120), "there and back");
    echo.proxy.heal();
    assert_eq!(ask(&client, "quick").unwrap(), "quick");
}

#[test]
fn a_cut_resets_and_refuses_until_healed() {
    let echo = Echo::new();
    let client = echo.connect();
    assert_eq!(ask(&client, "a").unwrap(), "a");
    echo.proxy.cut();
    assert_eq!(answer(&client), Err(ErrorKind::ConnectionReset));
    assert!(eventually(|| TcpStream::connect(echo.proxy.address()).is_err()), "refused");
    echo.proxy.heal();
    assert!(eventually(|| TcpStream::connect(echo.proxy.address()).is_ok()), "welcome again");
    assert_eq!(ask(&echo.connect(), "b").unwrap(), "b");
}

#[test]
fn a_reset_ends_connections_and_welcomes_new_ones() {
    let echo = Echo::new();
    let client = echo.connect();
    assert_eq!(ask(&client, "a").unwrap(), "a");
    echo.proxy.reset();
    assert_eq!(answer(&client), Err(ErrorKind::ConnectionReset));
    assert_eq!(ask(&echo.connect(), "b").unwrap(), "b");
}

#[test]
fn half_open_swallows_both_ways_without_a_word() {
    let echo = Echo::new();
    let client = echo.connect();
    assert_eq!(ask(&client, "a").unwrap(), "a");
    echo.proxy.half_open();
    assert_eq!(ask(&client, "b"), Err(ErrorKind::WouldBlock));
    assert_eq!(ask(&echo.connect(), "c"), Err(ErrorKind::WouldBlock), "new ones are accepted, and lost");
    echo.proxy.heal();
    assert_eq!(answer(&client), Err(ErrorKind::ConnectionReset), "a stream with a gap makes no sense");
    assert_eq!(ask(&echo.connect(), "d").unwrap(), "d");
    assert_eq!(*echo.heard.lock().unwrap(), ["a", "d"], "what was swallowed never came");
}

#[test]
fn a_mute_proxy_lets_requests_through_and_drops_answers() {
    let echo = Echo::new();
    let client = echo.connect();
    echo.proxy.mute();
    assert_eq!(ask(&client, "done"), Err(ErrorKind::WouldBlock));
    assert!(echo.has_heard("done"));
    echo.proxy.heal();
    assert_eq!(answer(&client), Err(ErrorKind::ConnectionReset));
}

#[test]
fn what_was_stalled_arrives_late() {
    let echo = Echo::new();
    let client = echo.connect();
    assert_eq!(ask(&client, "a").unwrap(), "a");
    echo.proxy.stall();
    assert_eq!(ask(&client, "late"), Err(ErrorKind::WouldBlock));
    assert_eq!(*echo.heard.lock().unwrap(), ["a"]);
    echo.proxy.heal();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(answer(&client).unwrap(), "late");
}

#[test]
fn one_answer_is_dropped_by_the_words_of_its_request() {
    let echo = Echo::new();
    let (client, other) = (echo.connect(), echo.connect());
    echo.proxy.drop_answer_to("renew 7");
    assert_eq!(ask(&client, "renew 6").unwrap(), "renew 6");
    (&client).write_all(b"ren").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(ask(&client, "ew 7"), Err(ErrorKind::ConnectionReset), "also when it came in pieces");
    assert!(echo.has_heard("renew 7"));
    assert_eq!(ask(&other, "renew 7").unwrap(), "renew 7", "once is enough");
    assert_eq!(echo.proxy.counts().dropped_answers, 1);
}
