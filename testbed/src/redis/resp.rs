//! Enough of Redis' protocol to look after a server.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::Failure;
use crate::failure::While;

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A text, simple or bulk.
    Text(String),
    /// A number.
    Number(i64),
    /// Several.
    Many(Vec<Reply>),
    /// None.
    Nothing,
}

impl Reply {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Reply::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A connection over the server's socket, which no certificate, proxy or address is in the way of.
pub(super) struct Connection(BufReader<UnixStream>);

impl Connection {
    pub(super) fn open(socket: &Path) -> Result<Self, Failure> {
        let stream = UnixStream::connect(socket).when(socket.display())?;
        // Longer than anything takes; a frozen server shows as an error.
        stream.set_read_timeout(Some(Duration::from_secs(10))).when(socket.display())?;
        Ok(Connection(BufReader::new(stream)))
    }

    pub(super) fn ask(&mut self, words: &[&str]) -> Result<Reply, Failure> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.get_mut().write_all(request.as_bytes()).when(words[0])?;
        self.reply().map_err(|failure| Failure::new(format!("{}: {failure}", words.join(" "))))
    }

    fn reply(&mut self) -> Result<Reply, Failure> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(Failure::new("the connection was closed"));
        }
        let line = line.trim_end();
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| Failure::new("an empty answer"))?;
        let length = || rest.parse::<i64>().when(line);
        match kind {
            "+" => Ok(Reply::Text(rest.to_owned())),
            ":" => Ok(Reply::Number(length()?)),
            "$" if length()? < 0 => Ok(Reply::Nothing),
            "$" => {
                let mut bytes = vec![0; length()? as usize + 2];
                self.0.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Ok(Reply::Text(String::from_utf8_lossy(&bytes).into_owned()))
            }
            "*" if length()? < 0 => Ok(Reply::Nothing),
            "*" => (0..length()?).map(|_| self.reply()).collect::<Result<_, _>>().map(Reply::Many),
            _ => Err(Failure::new(rest)),
        }
    }
}
