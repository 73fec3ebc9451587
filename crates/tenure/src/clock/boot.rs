//! The machine's own clock: `CLOCK_BOOTTIME`.

use std::future::Future;
use std::pin::Pin;

use super::Clock;
use crate::Moment;

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
compile_error!(
    "tenure needs a clock that counts suspended time. It has one on Linux (CLOCK_BOOTTIME) and macOS (CLOCK_MONOTONIC); this platform, \
     Windows included, is not supported yet"
);

/// The real clock: on Linux `CLOCK_BOOTTIME`, on macOS `CLOCK_MONOTONIC` (which counts sleep there).
///
/// Waiting uses a timer on that same clock where the kernel has one (Linux), so that a machine that wakes from suspend hears of it at
/// once; elsewhere the wait is cut into slices of one second.
#[derive(Clone, Copy, Debug, Default)]
pub struct BootClock;

impl Clock for BootClock {
    #[inline]
    fn now(&self) -> Moment {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        const ID: rustix::time::ClockId = rustix::time::ClockId::Boottime;
        #[cfg(target_vendor = "apple")]
        const ID: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(ID);
        Moment::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    fn wait_until<'a>(&'a self, moment: Moment) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(wait(moment))
    }
}

/// Must run inside a tokio runtime with time and I/O enabled, as the driver's is.
#[cfg(any(target_os = "linux", target_os = "android"))]
async fn wait(moment: Moment) {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use tokio::net::unix::pipe::Receiver;

    if moment == Moment::NEVER {
        return std::future::pending().await;
    }
    let armed = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
        .and_then(|timer| {
            let nanos = moment.as_nanos().max(1);
            let at = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
            let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
            timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &once)?;
            Ok(timer)
        })
        .map_err(std::io::Error::from)
        // Any pollable descriptor will do: nothing is read from it, only its readiness is waited for.
        .and_then(Receiver::from_owned_fd_unchecked);
    match armed {
        Ok(timer) => drop(timer.readable().await),
        // No descriptor to be had: fall back to slices, which a suspend can delay by a second and no more.
        Err(_) => slices(moment).await,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
async fn wait(moment: Moment) {
    slices(moment).await;
}

async fn slices(moment: Moment) {
    const SLICE: std::time::Duration = std::time::Duration::from_secs(1);
    loop {
        let left = moment.until_from(BootClock.now());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(SLICE)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_real_clock_is_the_boot_clock() {
        // SAFETY 5: in a process whose boot clock is offset from the monotonic one the two differ; where they do not, this
        // still pins the clock to the kernel's BOOTTIME reading by bracketing it.
        let read = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            Moment::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
        };
        let before = read();
        let now = BootClock.now();
        let after = read();
        assert!(before <= now && now <= after, "{before:?} {now:?} {after:?}");
    }

    #[tokio::test]
    async fn waiting_ends_at_the_moment_and_not_before() {
        let at = BootClock.now().after(Duration::from_millis(20));
        BootClock.wait_until(at).await;
        assert!(BootClock.now() >= at);
    }

    #[tokio::test]
    async fn waiting_for_the_past_ends_at_once() {
        BootClock.wait_until(Moment::ZERO).await;
        BootClock.wait_until(BootClock.now()).await;
    }
}
