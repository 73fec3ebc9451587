//! How long nobody leads on a Redis server when a leader resigns, and when it dies: as multiples of a round trip to that server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tenure::{Candidate, Election, Error, Tenure};
use tenure_redis::RedisBackend;
use testbed::Proxy;
use testbed::redis::{Redis, Reply};
use tokio::runtime::{Builder, Runtime};

use crate::Failure;
use crate::distribution::Distribution;

const WARM_UP: usize = 10;
const KEY: &str = "tenure:handover";
/// Of those who die.
const LEASE: Duration = Duration::from_secs(2);

/// What a network takes, one way.
const DELAY: Duration = Duration::from_millis(2);

pub(crate) fn run(rounds: usize) -> Result<(), Failure> {
    let redis = Redis::start()?;
    let runtime = runtime()?;
    let near = Way::to(&redis, redis.address());
    println!(
        "From a leader's resign() to the next candidate's campaign() returning, each with a connection of its own\n"
    );
    println!("  on this host, where waking threads is most of it:\n");
    resignations(&near, &runtime, rounds)?;
    let proxy = Proxy::to(redis.address())?;
    proxy.delay(DELAY);
    println!("  over a proxy that takes {DELAY:?} each way:\n");
    resignations(&Way::to(&redis, proxy.address()), &runtime, rounds)?;
    crashes(&redis, &near, &runtime, (rounds / 10).max(3))
}

/// A way to the server.
struct Way {
    url: String,
    address: SocketAddr,
}

impl Way {
    fn to(redis: &Redis, address: SocketAddr) -> Self {
        Way { url: redis.url_at(address), address }
    }

    fn election(&self) -> Result<Election, Failure> {
        Ok(Election::new(RedisBackend::new(&self.url)?, "handover")?)
    }
}

/// What is killed: a process that leads, and says so.
pub(crate) fn candidate(url: &str) -> Result<(), Failure> {
    let candidate = Election::new(RedisBackend::new(url)?, "handover")?.candidate("mortal").lease(LEASE).build()?;
    let runtime = runtime()?;
    let _tenure = runtime.block_on(candidate.campaign())?;
    println!("leading");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn resignations(way: &Way, runtime: &Runtime, rounds: usize) -> Result<(), Failure> {
    let elections = [way.election()?, way.election()?];
    let mut ping = Ping::connect(way.address)?;
    let (mut trips, mut calls, mut handovers) = (Vec::new(), Vec::new(), Vec::new());
    let mut tenure: Option<Tenure> = None;
    for round in 0..WARM_UP + rounds {
        let next = elections[round % 2].candidate(["0", "1"][round % 2]).build()?;
        let waiting = std::thread::spawn(move || waits(&next));
        // It stands, watches, and stands once more.
        std::thread::sleep(Duration::from_millis(if tenure.is_some() { 60 } else { 0 }));
        let trip = ping.round_trip()?;
        let asked = Instant::now();
        runtime.block_on(elections[round % 2].incumbent())?;
        let call = asked.elapsed();
        let resigned = Instant::now();
        if let Some(tenure) = tenure.take() {
            runtime.block_on(tenure.resign())?;
        }
        let (elected, won) = waiting.join().map_err(|_| "a candidate panicked")??;
        tenure = Some(won);
        if round > WARM_UP {
            trips.push(micros(trip));
            calls.push(micros(call));
            handovers.push(micros(elected.duration_since(resigned)));
        }
    }
    if let Some(tenure) = tenure {
        runtime.block_on(tenure.resign())?;
    }
    let [trips, calls, handovers] = [trips, calls, handovers].map(|samples| Distribution::new(samples, "µs"));
    println!("  PING on a plain socket           {trips}");
    println!("  one look through the backend     {calls}");
    println!("  handover                         {handovers}");
    for (name, one) in [("a PING", &trips), ("one look", &calls)] {
        let (middle, tail) = (handovers.median() / one.median(), handovers.quantile(0.99) / one.quantile(0.99));
        println!("  as a multiple of {name:<9}       at p50 {middle:.1} ×, at p99 {tail:.1} ×");
    }
    println!();
    Ok(())
}

fn crashes(redis: &Redis, way: &Way, runtime: &Runtime, rounds: usize) -> Result<(), Failure> {
    println!("From the end of a killed leader's lease of {LEASE:?} to the next candidate's campaign() returning\n");
    let election = way.election()?;
    let mut ping = Ping::connect(way.address)?;
    let (mut trips, mut takeovers) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut mortal = Command::new(std::env::current_exe()?)
            .args(["redis-candidate", &redis.url()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut said = String::new();
        BufReader::new(mortal.stdout.take().ok_or("it is piped")?).read_line(&mut said)?;
        let next = election.candidate("heir").build()?;
        let waiting = std::thread::spawn(move || waits(&next));
        std::thread::sleep(Duration::from_millis(50));
        mortal.kill()?;
        mortal.wait()?;
        let Reply::Number(left @ 1..) = redis.ask(&["PTTL", KEY])? else { return Err("nobody held the office".into()) };
        let over = Instant::now() + Duration::from_millis(left.unsigned_abs());
        let (elected, won) = waiting.join().map_err(|_| "a candidate panicked")??;
        trips.push(micros(ping.round_trip()?));
        takeovers.push(micros(elected.saturating_duration_since(over)));
        runtime.block_on(won.resign())?;
    }
    println!("  PING on a plain socket           {}", Distribution::new(trips, "µs"));
    println!("  after the lease                  {}", Distribution::new(takeovers, "µs"));
    Ok(())
}

/// Runs for the office on a thread of its own.
fn waits(candidate: &Candidate) -> Result<(Instant, Tenure), Error> {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let tenure = runtime.block_on(candidate.campaign())?;
    Ok((Instant::now(), tenure))
}

fn runtime() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

fn micros(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e3
}

/// The quickest that can be had of the server.
struct Ping(BufReader<TcpStream>);

impl Ping {
    fn connect(server: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        Ok(Ping(BufReader::new(stream)))
    }

    /// The median of a few: one alone says little.
    fn round_trip(&mut self) -> Result<Duration, Failure> {
        let mut spans = Vec::new();
        for _ in 0..5 {
            let start = Instant::now();
            self.0.get_mut().write_all(b"PING\r\n")?;
            self.0.read_line(&mut String::new())?;
            spans.push(start.elapsed());
        }
        spans.sort_unstable();
        Ok(spans[2])
    }
}
