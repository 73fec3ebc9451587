//! A stream that remembers why it broke.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::tls;

/// What TLS said when it ended a connection: a server refuses a certificate only after the handshake, and the layers above say no more than
/// that the connection was lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Note(Arc<OnceLock<String>>);

impl Note {
    pub(super) fn sentence(&self) -> Option<String> {
        self.0.get().cloned()
    }
}

/// Bytes that go both ways.
pub(super) struct Noted<S> {
    pub(super) stream: S,
    pub(super) host: String,
    pub(super) note: Note,
}

impl<S> Noted<S> {
    fn noting<T>(&self, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &done
            && let Some(sentence) = tls::sentence(error, &self.host)
        {
            let _ = self.note.0.set(sentence);
        }
        done
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.noting(done)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.noting(done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(cx);
        self.noting(done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
