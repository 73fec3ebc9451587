//! `tenure resign`.

use crate::common::Scene;
use crate::{output, tenure};

#[test]
fn resigning_an_office_that_nobody_holds_is_no_failure() {
    let scene = Scene::new();
    let said = output(&mut tenure(&["resign", "--backend", &scene.backend(), "office"]));
    assert!(said.status.success());
    assert_eq!(String::from_utf8_lossy(&said.stdout), "office: nobody leads\n");
}
