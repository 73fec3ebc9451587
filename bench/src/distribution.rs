//! Samples, and what to say of them.

use std::fmt;

/// Samples of one quantity, sorted.
#[derive(Debug)]
pub(crate) struct Distribution {
    sorted: Vec<f64>,
    unit: &'static str,
}

impl Distribution {
    /// Of these samples; there is at least one.
    pub(crate) fn new(mut samples: Vec<f64>, unit: &'static str) -> Self {
        assert!(!samples.is_empty(), "nothing was measured");
        samples.sort_by(f64::total_cmp);
        Distribution { sorted: samples, unit }
    }

    /// Of the ratios of samples that were taken in pairs, one right after the other, so that what disturbs both cancels out.
    pub(crate) fn of_ratios(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Distribution::new(pairs.into_iter().map(|(one, other)| one / other).collect(), "×")
    }

    /// The sample below which this part of all samples lies.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let index = (part * (self.sorted.len() - 1) as f64).round() as usize;
        self.sorted[index]
    }

    /// The sample in the middle.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Distribution { sorted, unit } = self;
        let shown = |part| format!("{:.2} {unit}", self.quantile(part));
        write!(
            f,
            "p50 {:>11}   p10 {:>11}   p90 {:>11}   p99 {:>11}   ({} samples)",
            shown(0.5),
            shown(0.1),
            shown(0.9),
            shown(0.99),
            sorted.len()
        )
    }
}
