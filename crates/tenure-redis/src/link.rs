//! One connection to one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};
use tenure::backend::network::Host;
use tenure::{Error, Promise};
use tokio::task::AbortHandle;

use crate::blame;
use crate::dial::Dialer;
use crate::script::Step;
use crate::settings::{Eviction, Settings};
use crate::subscriptions::Subscriptions;
use crate::url::Topology;

/// A connection that was greeted and examined. It carries all calls and all pushes, and is never mended: when it breaks another is made.
#[derive(Debug)]
pub(crate) struct Link {
    address: Host,
    connection: MultiplexedConnection,
    settings: Settings,
    subscriptions: Arc<Subscriptions>,
    broken: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Link {
    /// Connects, and looks at what the server shows of itself.
    pub(crate) async fn open(dialer: &Dialer, address: &Host) -> Result<Self, Error> {
        let subscriptions = Arc::new(Subscriptions::default());
        let pushed = subscriptions.clone();
        let dialled = dialer.dial(address, move |push| pushed.take(push)).await?;
        let broken = Arc::new(AtomicBool::new(false));
        let task = dialled.task.abort_handle();
        // Whatever ends the connection, everybody who relies on its pushes hears of it.
        tokio::spawn({
            let (broken, subscriptions) = (broken.clone(), subscriptions.clone());
            async move {
                let _ = dialled.task.await;
                broken.store(true, Ordering::Release);
                subscriptions.close();
            }
        });
        let mut link = Link {
            address: address.clone(),
            connection: dialled.connection,
            settings: Settings::default(),
            subscriptions,
            broken,
            task,
        };
        let questions = Settings::questions();
        let answers = link.connection.clone().send_packed_commands(&questions, 0, questions.len()).await;
        // Nothing was written yet, so nothing of it is unknown.
        link.settings = Settings::read(&answers.map_err(|error| blame::greeting(&error, address))?);
        Ok(link)
    }

    pub(crate) fn admit(&self, topology: &Topology, eviction: Eviction, pinned: Option<Promise>) -> Result<(), Error> {
        self.settings.admit(&self.address, topology, eviction, pinned)
    }

    pub(crate) fn address(&self) -> &Host {
        &self.address
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.subscriptions
    }

    pub(crate) fn connection(&self) -> MultiplexedConnection {
        self.connection.clone()
    }

    pub(crate) fn is_usable(&self) -> bool {
        !self.broken.load(Ordering::Acquire)
    }

    /// Gives it up: something was not answered in time. Calls that wait for an answer on it may still get one.
    pub(crate) fn abandon(&self) {
        self.broken.store(true, Ordering::Release);
        self.subscriptions.close();
    }

    /// Runs the steps of a call, in one packet; the answers are as many. `asking` is for keys that are on their way to this server.
    pub(crate) async fn run(&self, steps: &[Step], asking: bool) -> RedisResult<Vec<RedisResult<Value>>> {
        let mut answers = self.send(steps.iter().map(Step::by_digest), asking).await?;
        let unknown = |answer: &RedisResult<Value>| answer.as_ref().is_err_and(blame::is_unknown_script);
        // What the server does not know it has not run; what follows has found nothing to do, and does it now.
        if let Some(first) = answers.iter().position(unknown) {
            answers.truncate(first);
            answers.extend(self.send(steps[first..].iter().map(Step::in_full), asking).await?);
        }
        Ok(answers)
    }

    pub(crate) async fn ask(&self, command: &Cmd) -> RedisResult<Value> {
        command.query_async(&mut self.connection.clone()).await
    }

    /// Sends many commands in one go.
    pub(crate) async fn send(
        &self,
        commands: impl ExactSizeIterator<Item = Cmd>,
        asking: bool,
    ) -> RedisResult<Vec<RedisResult<Value>>> {
        let mut pipeline = Pipeline::with_capacity(commands.len() * 2);
        for command in commands {
            if asking {
                pipeline.cmd("ASKING");
            }
            pipeline.add_command(command);
        }
        let answers = self.connection.clone().send_packed_commands(&pipeline, 0, pipeline.len()).await?;
        let kept = answers.into_iter().skip(usize::from(asking)).step_by(if asking { 2 } else { 1 });
        Ok(kept
            .map(|answer| match answer {
                Value::ServerError(error) => Err(RedisError::from(error)),
                answer => Ok(answer),
            })
            .collect())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}
