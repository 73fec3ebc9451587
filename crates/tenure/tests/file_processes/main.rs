//! The file backend among real processes that die, freeze, run as another user or find the disk full. The program runs itself again for
//! each of them.

mod boundaries;
mod contest;
mod death;
mod hazards;
mod tracing;
mod world;

#[path = "../file_tools/mod.rs"]
mod file_tools;

use libtest_mimic::{Arguments, Failed, Trial};

/// A test: its name, what it needs that may not be there, and what it does.
type Case = (&'static str, Option<&'static str>, fn());

macro_rules! cases {
    ($($module:ident::$name:ident $(needs $what:expr)?;)*) => {
        vec![$((stringify!($name), cases!(@needs $($what)?), $module::$name as fn())),*]
    };
    (@needs) => { None };
    (@needs $what:expr) => { $what };
}

fn main() {
    if let Ok(role) = std::env::var(world::ROLE) {
        return match role.as_str() {
            "step" => boundaries::step(),
            "leader" => death::leader(),
            "guardian" => death::guardian(),
            "probe" => hazards::probe(),
            "contestant" => contest::contestant(),
            other => panic!("no role {other}"),
        };
    }
    let root = || (!rustix::process::geteuid().is_root()).then_some("root, to be another user");
    let disks = || (!hazards::can_mount()).then_some("root and `unshare`, to mount a disk that nobody else sees");
    let go = || contest::go().is_none().then_some("go, to build a peer");
    let cases: Vec<Case> = cases! {
        boundaries::a_first_bid_killed_at_any_system_call_leaves_the_office_free_or_won;
        boundaries::a_bid_killed_at_any_system_call_leaves_the_office_free_or_won;
        boundaries::a_takeover_killed_at_any_system_call_leaves_the_old_holder_or_the_new;
        boundaries::a_renewal_killed_at_any_system_call_frees_nothing;
        boundaries::a_withdrawal_killed_at_any_system_call_leaves_the_holder_or_its_release;
        boundaries::an_eviction_killed_at_any_system_call_leaves_the_holder_or_the_bar;
        boundaries::a_token_is_on_disk_before_it_stands_in_the_lease_file;
        boundaries::only_what_raises_a_token_is_fsynced;
        death::a_killed_leader_is_succeeded_long_before_its_lease_ends;
        death::a_killed_leader_that_declared_nothing_is_waited_out;
        death::a_stopped_leader_is_waited_out_and_harms_nobody_when_it_goes_on;
        death::a_guardian_that_inherited_the_lock_keeps_the_office_until_it_is_done;
        death::a_process_that_is_stopped_inside_the_lock_is_named_and_waited_for_no_longer_than_allowed;
        death::one_process_has_one_inotify_instance;
        hazards::a_file_of_another_user_is_refused needs root();
        hazards::an_unreadable_file_or_directory_is_an_error needs root();
        hazards::a_read_only_file_system_is_an_error needs disks();
        hazards::a_full_disk_loses_nothing needs disks();
        hazards::a_record_that_finds_no_room_to_grow_leaves_the_one_before_it needs disks();
        hazards::a_file_system_that_is_not_known_is_only_best_effort needs disks();
        hazards::a_disk_that_is_mounted_over_the_directory_is_noticed needs disks();
        hazards::a_disk_that_was_unmounted_ends_its_watches needs disks();
        contest::eight_processes_contend_under_kill_and_stop needs go();
    };
    let mut arguments = Arguments::from_args();
    // Most of these are about time, and some are eight processes.
    arguments.test_threads.get_or_insert(2);
    let strict = ["TENURE_STRICT", "CI"].iter().any(|name| std::env::var(name).is_ok_and(|value| value != "0"));
    let trials = cases.into_iter().map(|(name, missing, run)| match missing {
        None => Trial::test(name, move || {
            run();
            Ok(())
        }),
        Some(what) if strict => Trial::test(name, move || Err(Failed::from(format!("did not run: it needs {what}")))),
        Some(what) => Trial::test(name, move || Err(what.into())).with_ignored_flag(true),
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}
