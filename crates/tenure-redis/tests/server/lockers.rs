//! A mixed fleet: our candidates and plain `SET NX PX` lockers, all of them processes that are killed now and then, never lead at once.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tenure::{BootClock, Clock, Election, ForeignPeers};
use testbed::Trials;
use testbed::redis::{Redis, missing};

use crate::tools::{block_on, plain};

/// Which of the two a process is; unset in the one that tests.
const ROLE: &str = "TENURE_TEST_ROLE";
const LEASE: Duration = Duration::from_millis(1_500);
const CHANGES: usize = 50;

pub(crate) fn tests(trials: Trials) -> Trials {
    trials
        .needing(missing(), "fifty_changes_between_candidates_and_plain_lockers_and_never_two", fifty_changes)
        .needing(missing(), "a_lock_that_never_expires_is_missed_also_without_events", a_lock_that_never_expires)
}

/// Plays the part that this process was started for, if it was.
pub(crate) fn role() -> bool {
    let Ok(role) = std::env::var(ROLE) else { return false };
    let words: Vec<_> = role.split(' ').collect();
    let [kind, address, journal] = words[..] else { panic!("a role has three words: {role}") };
    let journal = OpenOptions::new().append(true).create(true).open(journal).expect("the journal is there");
    match kind {
        "candidate" => candidate(address, journal),
        _ => locker(address, journal),
    }
    true
}

/// Writes down, again and again, that this process leads now. One line is one write, which is whole.
struct Journal {
    file: File,
    name: String,
    tenures: u32,
}

impl Journal {
    fn begin(&mut self) {
        self.tenures += 1;
    }

    fn leads(&mut self) {
        let line = format!("{} {}-{}\n", BootClock.now().as_nanos(), self.name, self.tenures);
        self.file.write_all(line.as_bytes()).expect("the journal takes it");
    }
}

fn candidate(address: &str, file: File) {
    let mut journal = Journal { file, name: format!("candidate-{}", std::process::id()), tenures: 0 };
    block_on(async {
        let election = Election::new(plain(&format!("redis://{address}")), "office").unwrap();
        let election = election.shared_with(ForeignPeers::StepDownInTime);
        let candidate = election.candidate(&journal.name).lease(LEASE).build().unwrap();
        loop {
            let Ok(tenure) = candidate.campaign().await else { continue };
            journal.begin();
            let until = Instant::now() + LEASE.mul_f64(0.3 + fastrand::f64());
            while Instant::now() < until && tenure.is_held() {
                journal.leads();
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let _ = tenure.resign().await;
        }
    });
}

/// As the usual recipe has it: a random value, `NX PX`, deletion by comparison; one that is careful enough to count from before it asked.
fn locker(address: &str, file: File) {
    let mut journal = Journal { file, name: format!("locker-{}", std::process::id()), tenures: 0 };
    let mut server = TcpStream::connect(address).unwrap();
    let mut answers = BufReader::new(server.try_clone().unwrap());
    let mut ask = |words: &[&str]| {
        let mut request = format!("*{}\r\n", words.len());
        words.iter().for_each(|word| request.push_str(&format!("${}\r\n{word}\r\n", word.len())));
        server.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    };
    loop {
        let value = format!("{}-{}", journal.name, fastrand::u64(..));
        let asked = Instant::now();
        let locked = ask(&["SET", "tenure:office", &value, "NX", "PX", &LEASE.as_millis().to_string()]) == "+OK";
        if locked {
            journal.begin();
            let until = asked + LEASE.mul_f64(0.2 + 0.6 * fastrand::f64());
            while Instant::now() < until {
                journal.leads();
                std::thread::sleep(Duration::from_millis(2));
            }
            let unlock =
                "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
            ask(&["EVAL", unlock, "1", "tenure:office", &value]);
        }
        std::thread::sleep(Duration::from_millis(fastrand::u64(1..4)));
    }
}

/// A process that is killed when this is dropped, and is then waited for.
struct Player(Child);

impl Player {
    fn start(kind: &str, redis: &Redis, journal: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.env(ROLE, format!("{kind} {} {}", redis.address(), journal.display())).stdin(Stdio::null());
        Player(process.spawn().unwrap())
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Who led, in turn; it panics where two did at once.
fn turns(journal: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(journal).unwrap_or_default();
    let mut lines: Vec<(u64, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(at, who)| (at.parse().expect("a moment"), who))
        .collect();
    lines.sort_unstable();
    let mut turns: Vec<String> = Vec::new();
    for (at, who) in lines {
        if turns.last().is_some_and(|last| last == who) {
            continue;
        }
        assert!(!turns.iter().any(|before| before == who), "{who} led again at {at} after others: two led at once");
        turns.push(who.to_owned());
    }
    turns
}

/// Nobody tells that it was taken away, and no end of it can be waited for.
fn a_lock_that_never_expires() {
    let redis = Redis::with().events("").start().unwrap();
    redis.ask(&["SET", "tenure:office", "somebody"]).unwrap();
    block_on(async {
        let candidate = Election::new(plain(&redis.url()), "office").unwrap().candidate("one").build().unwrap();
        let campaign = candidate.start().unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!campaign.is_leader());
        redis.ask(&["DEL", "tenure:office"]).unwrap();
        let leads = tokio::time::timeout(Duration::from_secs(60), campaign.wait_for_leadership()).await;
        leads.expect("the office is free").unwrap();
    });
}

fn fifty_changes() {
    let redis = Redis::start().unwrap();
    let journal = redis.place().folder().join("journal");
    let kinds = ["candidate", "locker", "candidate", "locker"];
    let mut players: Vec<_> = kinds.iter().map(|kind| Player::start(kind, &redis, &journal)).collect();
    let start = Instant::now();
    let mut kills = 0;
    loop {
        let turns = turns(&journal);
        let by = |kind: &str| turns.iter().filter(|who| who.starts_with(kind)).count();
        if turns.len() > CHANGES && by("candidate") >= 10 && by("locker") >= 10 && kills >= 8 {
            println!("{} changes, {} by candidates, {kills} kills", turns.len() - 1, by("candidate"));
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(180),
            "only {} changes and {kills} kills: {turns:?}",
            turns.len()
        );
        std::thread::sleep(Duration::from_millis(fastrand::u64(300..1_500)));
        // Whoever leads now, as often as not; it says so in the last line.
        let victim = match turns.last() {
            Some(last) if fastrand::bool() => {
                players.iter().position(|player| last.contains(&format!("-{}-", player.0.id()))).unwrap_or_default()
            }
            _ => fastrand::usize(..players.len()),
        };
        players[victim] = Player::start(kinds[victim], &redis, &journal);
        kills += 1;
    }
}
