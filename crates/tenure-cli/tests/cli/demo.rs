//! `tenure demo`.

use crate::common::{LONG, MARK, Scene, eventually};
use crate::{output, tenure};

#[test]
fn the_demo_plays_its_script_without_a_terminal() {
    let scene = Scene::new();
    let said = output(tenure(&["demo"]).env(MARK, &scene.folder));
    let text = String::from_utf8(said.stdout).expect("UTF-8");
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(text.matches(" leads with token ").count(), 4, "{text}");
    assert!(text.contains("is killed (SIGKILL)") && text.contains("is frozen (SIGSTOP)"), "{text}");
    assert!(text.contains("finds that it does not lead any more"), "{text}");
    // The guardians of those that were ended may take a moment to go.
    eventually("nothing is left running", LONG, || scene.marked().is_empty().then_some(()));
}
