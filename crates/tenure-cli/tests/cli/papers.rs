//! `tenure completions` and `tenure man`.

use crate::{output, tenure};

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = output(&mut tenure(&["completions", shell]));
        assert!(said.status.success() && said.stdout.len() > 500, "{shell}");
    }
    let page = String::from_utf8(output(&mut tenure(&["man"])).stdout).expect("UTF-8");
    assert!(page.contains(".TH tenure 1") && page.contains(".SH \"EXIT STATUS\""), "{page}");
    let page = String::from_utf8(output(&mut tenure(&["man", "run"])).stdout).expect("UTF-8");
    assert!(page.contains("leadership was lost") && page.contains("kill\\-margin"), "{page}");
}
