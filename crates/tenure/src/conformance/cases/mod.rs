//! The properties, by theme. Each is one function, named by a sentence, with the rule it keeps in its documentation.

mod administering;
mod displacing;
mod elections;
mod errors;
mod expiring;
mod handover;
mod looking;
mod queueing;
mod renewing;
mod seats;
mod sessions;
mod standing;
mod tokens;
mod watching;
mod withdrawing;

use super::case::Case;

pub(super) fn all() -> Vec<Case> {
    [
        standing::cases(),
        displacing::cases(),
        renewing::cases(),
        withdrawing::cases(),
        expiring::cases(),
        looking::cases(),
        tokens::cases(),
        watching::cases(),
        seats::cases(),
        errors::cases(),
        queueing::cases(),
        sessions::cases(),
        administering::cases(),
        elections::cases(),
        handover::cases(),
    ]
    .concat()
}
