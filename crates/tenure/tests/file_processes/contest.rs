pub(crate) fn contestant() {}
pub(crate) fn go() -> Option<()> {
    None
}
pub(crate) fn eight_processes_contend_under_kill_and_stop() {}
