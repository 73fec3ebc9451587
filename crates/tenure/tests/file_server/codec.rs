//! Calls and answers as JSON.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tenure::backend::{
    Bid, Cover, Evicted, Expiry, Grant, Held, Hint, Renewal, Sight, Standing, TenureId, Traits, Vacancy, Version,
};
use tenure::machine::Plan;
use tenure::{CandidateName, Error, ErrorKind, Seat, TimingBuilder};

/// What goes over the line.
pub(super) trait Wire: Sized {
    fn pack(&self) -> Value;
    fn unpack(value: &Value) -> Self;
}

const DAMAGED: &str = "both ends are one program";

fn text(value: &Value) -> &str {
    value.as_str().expect(DAMAGED)
}

impl Wire for () {
    fn pack(&self) -> Value {
        Value::Null
    }

    fn unpack(_: &Value) -> Self {}
}

impl Wire for bool {
    fn pack(&self) -> Value {
        json!(self)
    }

    fn unpack(value: &Value) -> Self {
        value.as_bool().expect(DAMAGED)
    }
}

impl Wire for u64 {
    fn pack(&self) -> Value {
        json!(self)
    }

    fn unpack(value: &Value) -> Self {
        value.as_u64().expect(DAMAGED)
    }
}

impl Wire for Duration {
    fn pack(&self) -> Value {
        json!(self.as_nanos() as u64)
    }

    fn unpack(value: &Value) -> Self {
        Duration::from_nanos(u64::unpack(value))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn pack(&self) -> Value {
        self.as_ref().map_or(Value::Null, |some| json!([some.pack()]))
    }

    fn unpack(value: &Value) -> Self {
        value.get(0).map(T::unpack)
    }
}

impl<T: Wire, U: Wire> Wire for (T, U) {
    fn pack(&self) -> Value {
        json!([self.0.pack(), self.1.pack()])
    }

    fn unpack(value: &Value) -> Self {
        (T::unpack(&value[0]), U::unpack(&value[1]))
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn pack(&self) -> Value {
        self.iter().map(T::pack).collect()
    }

    fn unpack(value: &Value) -> Self {
        value.as_array().expect(DAMAGED).iter().map(T::unpack).collect()
    }
}

impl Wire for SystemTime {
    fn pack(&self) -> Value {
        json!(self.duration_since(UNIX_EPOCH).expect(DAMAGED).as_nanos() as u64)
    }

    fn unpack(value: &Value) -> Self {
        UNIX_EPOCH + Duration::unpack(value)
    }
}

impl Wire for TenureId {
    fn pack(&self) -> Value {
        json!(self.to_string())
    }

    fn unpack(value: &Value) -> Self {
        text(value).parse().expect(DAMAGED)
    }
}

impl Wire for Seat {
    fn pack(&self) -> Value {
        json!(self.as_str())
    }

    fn unpack(value: &Value) -> Self {
        Seat::new(text(value)).expect(DAMAGED)
    }
}

impl Wire for Version {
    fn pack(&self) -> Value {
        self.as_number().map_or_else(|| json!(self.as_text()), |number| json!(number))
    }

    fn unpack(value: &Value) -> Self {
        value.as_u64().map_or_else(|| Version::text(text(value)), Version::number)
    }
}

impl Wire for Vacancy {
    fn pack(&self) -> Value {
        match self {
            Vacancy::Free => json!("free"),
            Vacancy::Removed => json!("removed"),
            Vacancy::Released { by } => json!({"by": by.pack()}),
        }
    }

    fn unpack(value: &Value) -> Self {
        match value.as_str() {
            Some("free") => Vacancy::Free,
            Some(_) => Vacancy::Removed,
            None => Vacancy::Released { by: TenureId::unpack(&value["by"]) },
        }
    }
}

impl Wire for Expiry {
    fn pack(&self) -> Value {
        match self {
            Expiry::Store { remaining } => json!(["store", remaining.pack()]),
            Expiry::Observe { recorded } => json!(["observe", recorded.pack()]),
            Expiry::Dead { after } => json!(["dead", after.pack()]),
        }
    }

    fn unpack(value: &Value) -> Self {
        match text(&value[0]) {
            "store" => Expiry::Store { remaining: Wire::unpack(&value[1]) },
            "observe" => Expiry::Observe { recorded: Wire::unpack(&value[1]) },
            _ => Expiry::Dead { after: Wire::unpack(&value[1]) },
        }
    }
}

impl Wire for Sight {
    fn pack(&self) -> Value {
        match self {
            Sight::Vacant(why) => json!({"vacant": why.pack()}),
            Sight::Held(held) => json!({
                "version": held.version.pack(), "tenure": held.tenure.pack(), "holder": &*held.holder, "token": held.token.pack(),
                "since": held.since.pack(), "advertise": &*held.advertise, "asked": held.asked_to_resign,
                "expiry": held.expiry.pack(),
            }),
        }
    }

    fn unpack(value: &Value) -> Self {
        if let Some(why) = value.get("vacant") {
            return Sight::Vacant(Wire::unpack(why));
        }
        Sight::Held(Held {
            version: Wire::unpack(&value["version"]),
            tenure: Wire::unpack(&value["tenure"]),
            holder: text(&value["holder"]).into(),
            token: Wire::unpack(&value["token"]),
            since: Wire::unpack(&value["since"]),
            advertise: bytes(&value["advertise"]),
            asked_to_resign: Wire::unpack(&value["asked"]),
            expiry: Wire::unpack(&value["expiry"]),
        })
    }
}

fn bytes(value: &Value) -> Arc<[u8]> {
    Vec::<u64>::unpack(value).into_iter().map(|byte| byte as u8).collect()
}

impl Wire for Grant {
    fn pack(&self) -> Value {
        let Cover::Own { ttl } = self.cover else { panic!("a file has no sessions") };
        assert_eq!(self.incarnation, None);
        json!({
            "tenure": self.tenure.pack(), "version": self.version.pack(), "token": self.token.pack(), "ttl": ttl.pack(),
            "over": self.over.pack(), "asked": self.asked_to_resign,
        })
    }

    fn unpack(value: &Value) -> Self {
        Grant {
            tenure: Wire::unpack(&value["tenure"]),
            version: Wire::unpack(&value["version"]),
            token: Wire::unpack(&value["token"]),
            incarnation: None,
            cover: Cover::Own { ttl: Wire::unpack(&value["ttl"]) },
            over: Wire::unpack(&value["over"]),
            asked_to_resign: Wire::unpack(&value["asked"]),
        }
    }
}

impl Wire for Standing {
    fn pack(&self) -> Value {
        match self {
            Standing::Elected(grant) => json!({"elected": grant.pack()}),
            Standing::Held(sight) => json!({"held": sight.pack()}),
            Standing::Queued(..) => panic!("a file has no queue"),
        }
    }

    fn unpack(value: &Value) -> Self {
        match value.get("elected") {
            Some(grant) => Standing::Elected(Wire::unpack(grant)),
            None => Standing::Held(Wire::unpack(&value["held"])),
        }
    }
}

impl Wire for Renewal {
    fn pack(&self) -> Value {
        match self {
            Renewal::Extended(grant) => json!({"extended": grant.pack()}),
            Renewal::Mismatch(sight) => json!({"mismatch": sight.pack()}),
        }
    }

    fn unpack(value: &Value) -> Self {
        match value.get("extended") {
            Some(grant) => Renewal::Extended(Wire::unpack(grant)),
            None => Renewal::Mismatch(Wire::unpack(&value["mismatch"])),
        }
    }
}

impl Wire for Hint {
    fn pack(&self) -> Value {
        match self {
            Hint::Armed => json!("armed"),
            Hint::Changed => json!("changed"),
            Hint::Vacant => json!("vacant"),
            Hint::Lagged => json!("lagged"),
            Hint::Eta(span) => json!({"eta": span.pack()}),
            Hint::Seen(sight) => json!({"seen": sight.pack()}),
        }
    }

    fn unpack(value: &Value) -> Self {
        match value.as_str() {
            Some("armed") => Hint::Armed,
            Some("changed") => Hint::Changed,
            Some("vacant") => Hint::Vacant,
            Some(_) => Hint::Lagged,
            None => match value.get("eta") {
                Some(span) => Hint::Eta(Wire::unpack(span)),
                None => Hint::Seen(Wire::unpack(&value["seen"])),
            },
        }
    }
}

impl Wire for Evicted {
    fn pack(&self) -> Value {
        match self {
            Evicted::WasVacant => Value::Null,
            Evicted::Barred { remaining } => remaining.pack(),
        }
    }

    fn unpack(value: &Value) -> Self {
        match value {
            Value::Null => Evicted::WasVacant,
            value => Evicted::Barred { remaining: Wire::unpack(value) },
        }
    }
}

/// A bid says for which kind of store it is made; both ends know that.
pub(super) fn pack_bid(bid: &Bid) -> Value {
    json!({
        "seat": bid.seat().pack(), "name": bid.name(), "tenure": bid.tenure().pack(), "lease": bid.lease().pack(),
        "advertise": &**bid.advertise(), "displace": bid.displace().cloned().pack(), "ends": bid.work_ends_with_process(),
    })
}

pub(super) fn unpack_bid(value: &Value, traits: Traits) -> Bid {
    let tenure = TenureId::unpack(&value["tenure"]);
    let lease = Some(Duration::unpack(&value["lease"]));
    let timing = TimingBuilder { lease, ..TimingBuilder::default() }.build().expect(DAMAGED);
    let name = CandidateName::new(text(&value["name"])).expect(DAMAGED);
    let plan = Plan::new(Wire::unpack(&value["seat"]), name, tenure.nonce(), Arc::new(timing), traits)
        .advertising(bytes(&value["advertise"]))
        .ending_work_with_process(Wire::unpack(&value["ends"]));
    Bid::new(Arc::new(plan), tenure, Wire::unpack(&value["displace"]))
}

const KINDS: [ErrorKind; 7] = [
    ErrorKind::Unavailable,
    ErrorKind::Denied,
    ErrorKind::Corrupt,
    ErrorKind::Unsupported,
    ErrorKind::InvalidName,
    ErrorKind::InvalidConfig,
    ErrorKind::Internal,
];

impl Wire for Error {
    fn pack(&self) -> Value {
        let kind = KINDS.iter().position(|kind| *kind == self.kind()).expect(DAMAGED);
        json!([kind, self.to_string(), self.is_transient(), self.is_indeterminate()])
    }

    fn unpack(value: &Value) -> Self {
        let kind = KINDS[u64::unpack(&value[0]) as usize];
        let error = Error::new(kind, text(&value[1])).transient(Wire::unpack(&value[2]));
        if bool::unpack(&value[3]) { error.indeterminate() } else { error }
    }
}
