//! What backends that reach a server have in common: addresses, hosts, secrets.
//!
//! An author of a backend takes these, so that every address reads alike, is refused alike, and never shows a password.
//!
//! ```
//! use tenure::backend::network::{Address, Form};
//!
//! const FORM: Form = Form { store: "a shelf", looks: "shelf://HOST:PORT/ROOM" };
//!
//! let address = Address::parse("shelf://ada@attic/room?colour=red", FORM)?;
//! assert_eq!((&*address.scheme, &*address.path), ("shelf", &["room".to_owned()][..]));
//! assert_eq!(address.hosts(4711)?[0].to_string(), "attic:4711");
//! assert_eq!(address.options, [("colour".to_owned(), "red".to_owned())]);
//! let refused = Address::parse("attic", FORM).unwrap_err();
//! assert_eq!(refused.to_string(), "this is no address of a shelf; an address of a shelf looks like shelf://HOST:PORT/ROOM");
//! # Ok::<(), tenure::Error>(())
//! ```

mod address;
mod host;
mod secret;

pub use address::{Address, Form};
pub use host::Host;
pub use secret::Secret;
