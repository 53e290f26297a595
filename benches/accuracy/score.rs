//! Errors of a group of rows.

/// What is said of a group of predictions.
pub struct Score {
    pub rows: usize,
    pub mean: f64,
    /// Mean of the signed errors.
    pub bias: f64,
    pub median: f64,
    pub ninetieth: f64,
    /// Spearman's rank correlation of predicted and measured times.
    pub spearman: f64,
}

impl Score {
    /// Scores pairs of measured and predicted microseconds; `None` for an empty group.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Score> {
        if pairs.is_empty() {
            return None;
        }
        let mut errors: Vec<f64> =
            pairs.iter().map(|(measured, predicted)| (predicted / measured - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        Some(Score {
            rows: pairs.len(),
            mean: errors.iter().sum::<f64>() / errors.len() as f64,
            bias: pairs.iter().map(|(measured, predicted)| predicted / measured - 1.0).sum::<f64>()
                / errors.len() as f64,
            median: quantile(&errors, 0.5),
            ninetieth: quantile(&errors, 0.9),
            spearman: spearman(pairs),
        })
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Score { rows, mean, bias: _, median, ninetieth, spearman } = self;
        write!(
            f,
            "{rows:>5} rows  mean {:>6.1} %  median {:>6.1} %  90th {:>6.1} %  Spearman {spearman:.4}",
            mean * 100.0,
            median * 100.0,
            ninetieth * 100.0
        )
    }
}

/// Quantile of sorted values, between neighbours where it falls between them.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let place = at * (sorted.len() - 1) as f64;
    let (low, share) = (place.floor() as usize, place.fract());
    sorted[low] * (1.0 - share) + sorted[(low + 1).min(sorted.len() - 1)] * share
}

/// Equal times share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let same = order[start..].iter().take_while(|&&i| values[i].total_cmp(&values[order[start]]).is_eq()).count();
        let rank = start as f64 + (same - 1) as f64 / 2.0;
        for &i in &order[start..start + same] {
            ranks[i] = rank;
        }
        start += same;
    }
    ranks
}

fn spearman(pairs: &[(f64, f64)]) -> f64 {
    let measured = ranks(&pairs.iter().map(|p| p.0).collect::<Vec<_>>());
    let predicted = ranks(&pairs.iter().map(|p| p.1).collect::<Vec<_>>());
    let middle = (pairs.len() - 1) as f64 / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>();
    let both = (product(&measured, &measured) * product(&predicted, &predicted)).sqrt();
    if both > 0.0 { product(&measured, &predicted) / both } else { 1.0 }
}
