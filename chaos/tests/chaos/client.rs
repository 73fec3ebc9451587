//! The backend over the store: a connection a call.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::backend::{
    Answer, Attempt, Bid, Cover, Expiry, Grant, Held, Renewal, Sight, Standing, TenureId, Traits, Vacancy, Version,
};
use tenure::{Backend, Error, Promise, Seat};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::plants::Plant;

#[derive(Debug)]
pub(crate) struct Shelf {
    address: SocketAddr,
    plant: Option<Plant>,
    /// What a planted reader remembers.
    stale: Mutex<Option<Sight>>,
    /// The tenures that a planted counter has counted.
    counted: Mutex<Vec<TenureId>>,
}

impl Shelf {
    pub(crate) fn new(address: SocketAddr, plant: Option<Plant>) -> Self {
        Shelf { address, plant, stale: Mutex::new(None), counted: Mutex::default() }
    }

    fn is(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }

    async fn ask(&self, line: String, patience: Duration) -> Result<Vec<String>, Error> {
        let call = async {
            let unreachable = |error: std::io::Error| Error::unavailable(error.to_string());
            let mut stream = TcpStream::connect(self.address).await.map_err(unreachable)?;
            let broken = |error: std::io::Error| Error::unknown_outcome(error.to_string());
            stream.write_all(format!("{line}\n").as_bytes()).await.map_err(broken)?;
            let mut answer = String::new();
            if BufReader::new(stream).read_line(&mut answer).await.map_err(broken)? == 0 {
                return Err(Error::unknown_outcome("the connection broke before the answer"));
            }
            Ok(answer.split_whitespace().map(str::to_owned).collect())
        };
        let late = |_| Error::unknown_outcome("no answer in time");
        tokio::time::timeout(patience, call).await.map_err(late)?
    }

    fn count(&self, tenure: TenureId) -> u64 {
        let mut counted = self.counted.lock().expect("nobody panics with it");
        if counted.last() != Some(&tenure) {
            counted.push(tenure);
        }
        counted.len() as u64
    }

    /// What is heard of the store.
    fn read(&self, words: &[String]) -> Result<Reply, Error> {
        let mut reply = read(words)?;
        if let Reply::Saw(Sight::Held(held)) = &mut reply
            && self.is(Plant::TokenRepeats)
        {
            held.token = None;
        }
        Ok(reply)
    }

    fn grant(&self, bid: &Bid, version: u64, token: u64) -> Grant {
        let token = if self.is(Plant::TokenRepeats) { self.count(bid.tenure()) } else { token };
        Grant {
            tenure: bid.tenure(),
            version: Version::number(version),
            token: Some(token),
            incarnation: None,
            cover: Cover::Own { ttl: if self.is(Plant::GrantTooLong) { bid.lease() * 3 } else { bid.lease() } },
            over: Vacancy::Free,
            asked_to_resign: false,
        }
    }
}

/// `granted` with its numbers, or a sight.
enum Reply {
    Granted(u64, u64),
    Saw(Sight),
}

fn read(words: &[String]) -> Result<Reply, Error> {
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
    match words.first().map(String::as_str) {
        Some("granted") => Ok(Reply::Granted(number(1), number(2))),
        Some("held") => Ok(Reply::Saw(Sight::Held(Held {
            version: Version::number(number(2)),
            tenure: words[1].parse::<TenureId>().ok(),
            holder: words[4].as_str().into(),
            token: Some(number(3)),
            since: None,
            advertise: Arc::from([]),
            asked_to_resign: false,
            expiry: Expiry::Store { remaining: Some(Duration::from_millis(number(5))) },
        }))),
        _ => Ok(Reply::Saw(Sight::Vacant(Vacancy::Free))),
    }
}

impl Backend for Shelf {
    fn traits(&self) -> Traits {
        Traits::new(Promise::Fenced)
    }

    fn place(&self) -> String {
        format!("store://{}", self.address)
    }

    fn stand<'a>(&'a self, bid: &'a Bid, _: Attempt) -> Answer<'a, Standing> {
        Box::pin(async move {
            let line = format!("stand {} {} {}", bid.tenure(), bid.name(), bid.lease().as_millis());
            match self.read(&self.ask(line, bid.call_timeout()).await?)? {
                Reply::Granted(version, token) => Ok(Standing::Elected(self.grant(bid, version, token))),
                Reply::Saw(Sight::Held(held)) if self.is(Plant::WinWithoutAWrite) && fastrand::u8(..4) == 0 => {
                    let version = held.version.as_number().unwrap_or_default();
                    Ok(Standing::Elected(self.grant(bid, version, held.token.unwrap_or_default() + 1)))
                }
                Reply::Saw(sight) => Ok(Standing::Held(sight)),
            }
        })
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        Box::pin(async move {
            let number = version.as_number().unwrap_or_default().to_string();
            let version = if self.is(Plant::BlindRenewal) { "any".to_owned() } else { number };
            let line = format!("renew {} {version} {}", bid.tenure(), bid.lease().as_millis());
            match self.read(&self.ask(line, bid.call_timeout()).await?)? {
                Reply::Granted(version, token) => Ok(Renewal::Extended(self.grant(bid, version, token))),
                Reply::Saw(sight) => Ok(Renewal::Mismatch(sight)),
            }
        })
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(async move {
            let whose = if self.is(Plant::BlindWithdrawal) { "any".to_owned() } else { bid.tenure().to_string() };
            self.ask(format!("withdraw {whose}"), bid.call_timeout()).await.map(drop)
        })
    }

    fn inspect<'a>(&'a self, _: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(async move {
            let Reply::Saw(sight) = self.read(&self.ask("inspect".to_owned(), Duration::from_secs(1)).await?)? else {
                return Err(Error::unavailable("an answer to another question"));
            };
            let before = self.stale.lock().expect("nobody panics").replace(sight.clone());
            Ok(before.filter(|_| self.is(Plant::StaleReads)).unwrap_or(sight))
        })
    }
}
