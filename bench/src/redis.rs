//! How long nobody leads on a Redis server when a leader resigns, and when it dies: as multiples of a round trip to that server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tenure::{Candidate, Election, Error, Tenure};
use tenure_redis::RedisBackend;
use testbed::redis::{Redis, Reply};
use tokio::runtime::{Builder, Runtime};

use crate::Failure;
use crate::distribution::Distribution;

const WARM_UP: usize = 10;
const KEY: &str = "tenure:handover";
/// Of those who die.
const LEASE: Duration = Duration::from_secs(2);

pub(crate) fn run(rounds: usize) -> Result<(), Failure> {
    let redis = Redis::start()?;
    let mut ping = Ping::connect(redis.address())?;
    let runtime = runtime()?;
    resignations(&redis, &mut ping, &runtime, rounds)?;
    crashes(&redis, &mut ping, &runtime, (rounds / 10).max(3))
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

fn resignations(redis: &Redis, ping: &mut Ping, runtime: &Runtime, rounds: usize) -> Result<(), Failure> {
    println!(
        "From a leader's resign() to the next candidate's campaign() returning, each with a connection of its own\n"
    );
    let elections = [election(redis)?, election(redis)?];
    let (mut trips, mut handovers) = (Vec::new(), Vec::new());
    let mut tenure: Option<Tenure> = None;
    for round in 0..WARM_UP + rounds {
        let next = elections[round % 2].candidate(["0", "1"][round % 2]).build()?;
        let waiting = std::thread::spawn(move || waits(&next));
        // It stands, watches, and stands once more.
        std::thread::sleep(Duration::from_millis(if tenure.is_some() { 25 } else { 0 }));
        let trip = ping.round_trip()?;
        let resigned = Instant::now();
        if let Some(tenure) = tenure.take() {
            runtime.block_on(tenure.resign())?;
        }
        let (elected, won) = waiting.join().map_err(|_| "a candidate panicked")??;
        tenure = Some(won);
        if round > WARM_UP {
            trips.push(micros(trip));
            handovers.push(micros(elected.duration_since(resigned)));
        }
    }
    if let Some(tenure) = tenure {
        runtime.block_on(tenure.resign())?;
    }
    let ratio = Distribution::of_ratios(handovers.iter().copied().zip(trips.iter().copied()));
    let (trips, handovers) = (Distribution::new(trips, "µs"), Distribution::new(handovers, "µs"));
    println!("  PING on a plain socket           {trips}");
    println!("  handover                         {handovers}");
    println!("  ratio, round by round            {ratio}\n");
    println!(
        "  handover as a multiple of a round trip: at p50 {:.1} ×, at p99 {:.1} ×\n",
        handovers.median() / trips.median(),
        handovers.quantile(0.99) / trips.quantile(0.99)
    );
    Ok(())
}

fn crashes(redis: &Redis, ping: &mut Ping, runtime: &Runtime, rounds: usize) -> Result<(), Failure> {
    println!("From the end of a killed leader's lease of {LEASE:?} to the next candidate's campaign() returning\n");
    let election = election(redis)?;
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

fn election(redis: &Redis) -> Result<Election, Failure> {
    Ok(Election::new(RedisBackend::new(&redis.url())?, "handover")?)
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
