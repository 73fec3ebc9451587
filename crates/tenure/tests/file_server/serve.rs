//! The server's end.

use std::io::{BufRead, Write};
use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tenure::backend::{Attempt, AttemptId, FileBackend, Version};
use tenure::{Backend, BootClock, Clock, Error, Seat};

use super::codec::{Wire, unpack_bid};

/// Serves until the standard input ends, if this process was started for that.
pub(crate) fn serve_if_asked() {
    let Some(directory) = std::env::var_os(super::DIRECTORY) else { return };
    let backend = Arc::new(FileBackend::new(directory).expect("the directory is there"));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let call: Value = serde_json::from_str(&line).expect("both ends are one program");
        let backend = backend.clone();
        runtime.spawn(async move { answer(&backend, &call).await });
    }
    std::process::exit(0);
}

fn say(value: &Value) {
    let mut out = std::io::stdout().lock();
    let said = writeln!(out, "{value}").and_then(|()| out.flush());
    if said.is_err() {
        std::process::exit(0);
    }
}

async fn answer(backend: &FileBackend, call: &Value) {
    let answer = match call["op"].as_str() {
        Some("watch") => return watch(backend, call).await,
        Some(op) => made(backend, op, call).await,
        None => panic!("no operation: {call}"),
    };
    let (key, value) = match answer {
        Ok(value) => ("ok", value),
        Err(error) => ("err", error.pack()),
    };
    say(&json!({"id": call["id"], key: value}));
}

async fn made(backend: &FileBackend, op: &str, call: &Value) -> Result<Value, Error> {
    let bid = || unpack_bid(&call["bid"], backend.traits());
    let seat = || Seat::unpack(&call["seat"]);
    let attempt = Attempt { id: AttemptId(0), sent: BootClock.now() };
    let administer = backend.administer().expect("a directory can be administered");
    Ok(match op {
        "stand" => backend.stand(&bid(), attempt).await?.pack(),
        "renew" => backend.renew(&bid(), &Version::unpack(&call["version"]), attempt).await?.pack(),
        "withdraw" => backend.withdraw(&bid()).await?.pack(),
        "inspect" => backend.inspect(&seat()).await?.pack(),
        "list" => administer.list(call["prefix"].as_str().expect("a prefix")).await?.pack(),
        "ask" => administer.ask_to_resign(&seat()).await?.pack(),
        "evict" => administer.evict(&seat()).await?.pack(),
        other => panic!("no operation {other}"),
    })
}

async fn watch(backend: &FileBackend, call: &Value) {
    match backend.watch(&Seat::unpack(&call["seat"]), None).await {
        Err(error) => say(&json!({"id": call["id"], "err": error.pack()})),
        Ok(mut hints) => {
            say(&json!({"id": call["id"], "ok": null}));
            while let Some(hint) = hints.next().await {
                say(&json!({"id": call["id"], "hint": hint.pack()}));
            }
            say(&json!({"id": call["id"], "end": true}));
        }
    }
}
