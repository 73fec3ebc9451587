//! One connection with one member.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::once;
use prost::Message;
use tenure::backend::network::Host;
use tenure::{Error, ErrorKind};
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, IntoStreamingRequest, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::blame::{Refusal, Why};
use super::call::{Effect, path};
use super::hub::Hub;
use super::message::{AuthenticateResponse, Empty, StatusResponse};
use super::noted::Note;
use super::{Login, Tls, dial, release};

/// A member that answers, runs a release that can be relied on, and knows who we are.
pub(crate) struct Connection {
    channel: Channel,
    /// Why TLS ended it, where it has.
    note: Note,
    secured: bool,
    host: Host,
    login: Option<Login>,
    token: Mutex<Option<MetadataValue<Ascii>>>,
    hub: Mutex<Option<Hub>>,
    /// How many answers came so far: whether anything comes at all.
    heard: AtomicU64,
}

impl Connection {
    /// More than the largest answer that is asked for.
    const LARGEST_ANSWER: usize = 16 << 20;

    pub(super) async fn open(host: &Host, tls: Option<&Tls>, login: Option<&Login>) -> Result<Self, Error> {
        let (channel, note) = dial::dial(host, tls).await?;
        let connection = Connection {
            channel,
            note,
            secured: tls.is_some(),
            host: host.clone(),
            login: login.cloned(),
            token: Mutex::new(None),
            hub: Mutex::new(None),
            heard: AtomicU64::new(0),
        };
        connection.log_in().await?;
        let status: StatusResponse = connection
            .unary(path::STATUS, Empty {})
            .await
            .map_err(|status| connection.blame(&status, Effect::Reads))?;
        release::admit(&status.version, &host.to_string())?;
        if status.is_learner {
            let message = format!("{host} is a learner, which answers no elections; name members that vote");
            return Err(Error::unavailable(message));
        }
        Ok(connection)
    }

    /// Gets a new token, where there is a user; the password is read anew.
    pub(super) async fn log_in(&self) -> Result<(), Refusal> {
        let Some(login) = &self.login else { return Ok(()) };
        self.set_token(None);
        let request = login.request().await.map_err(Refusal::from)?;
        let answer: AuthenticateResponse =
            self.unary(path::AUTHENTICATE, request).await.map_err(|status| self.blame(&status, Effect::Reads))?;
        let token = MetadataValue::try_from(answer.token).map_err(|error| {
            let message = format!("{} gave a token that cannot be sent", self.host);
            Refusal::from(Error::new(ErrorKind::Corrupt, message).because(error))
        })?;
        self.set_token(Some(token));
        Ok(())
    }

    /// One question, one answer.
    pub(super) async fn unary<Q, A>(&self, path: &'static str, message: Q) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = self.grpc().await?;
        let codec = ProstCodec::<Q, A>::default();
        let answer = grpc.unary(self.request(message), path_of(path), codec).await?;
        self.has_answered();
        Ok(answer.into_inner())
    }

    /// One question, one answer, on a stream of its own: so the answer is to this very question (SAFETY 21).
    pub(super) async fn ask_once<Q, A>(&self, path: &'static str, message: Q) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = self.grpc().await?;
        let codec = ProstCodec::<Q, A>::default();
        let request = self.request(once(std::future::ready(message)));
        let mut answers: Streaming<A> =
            grpc.streaming(request.into_streaming_request(), path_of(path), codec).await?.into_inner();
        let answer = answers.message().await?;
        self.has_answered();
        answer.ok_or_else(|| Status::new(Code::Unavailable, "the answer ended before it began"))
    }

    /// What carries the watches of this connection.
    pub(crate) fn hub(&self) -> Hub {
        let mut hub = self.hub.lock().unwrap_or_else(PoisonError::into_inner);
        match hub.as_ref().filter(|hub| !hub.is_over()) {
            Some(hub) => hub.clone(),
            None => {
                let grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(Self::LARGEST_ANSWER);
                hub.insert(Hub::start(grpc, |stream| self.request(stream))).clone()
            }
        }
    }

    /// The hub, if anybody watches.
    pub(super) fn running_hub(&self) -> Option<Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(|hub| !hub.is_over())
    }

    pub(super) fn heard(&self) -> u64 {
        let watched = self.running_hub().map_or(0, |hub| hub.heard());
        self.heard.load(Ordering::Relaxed) + watched
    }

    pub(super) fn blame(&self, status: &Status, effect: Effect) -> Refusal {
        let user = self.login.as_ref().map(|login| login.user.as_str());
        let refusal = Refusal::of(status, &self.host.to_string(), user, effect);
        if refusal.why != Why::Endpoint {
            return refusal;
        }
        match self.note.sentence() {
            Some(sentence) => Refusal { error: effect.unknown(Error::new(ErrorKind::Denied, sentence)), ..refusal },
            // The server's word on a certificate can be lost with the connection.
            None if self.secured && self.heard() == 0 => {
                let message = format!(
                    "{} hung up after the TLS handshake; it may want a client certificate, or not accept our certificate",
                    self.host
                );
                Refusal {
                    error: effect.unknown(Error::unavailable(message)).because(status.message().to_owned()),
                    ..refusal
                }
            }
            None => refusal,
        }
    }

    pub(super) fn unanswered(&self, effect: Effect) -> Refusal {
        Refusal::unanswered(&self.host.to_string(), effect)
    }

    fn has_answered(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    async fn grpc(&self) -> Result<Grpc<Channel>, Status> {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(Self::LARGEST_ANSWER);
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        Ok(grpc)
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        // A member that is cut off from the others says so then, and neither hangs nor answers from its past.
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        if let Some(token) = self.token.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            request.metadata_mut().insert("token", token);
        }
        request
    }

    fn set_token(&self, token: Option<MetadataValue<Ascii>>) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(hub) = self.running_hub() {
            hub.end();
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("host", &self.host).finish_non_exhaustive()
    }
}

fn path_of(path: &'static str) -> http::uri::PathAndQuery {
    http::uri::PathAndQuery::from_static(path)
}

/// How long one attempt to connect may take; another endpoint is tried then.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(2);
