//! Scatter plots: predicted against measured, log-log, one SVG for each set.

use super::data::Row;
use std::fmt::Write as _;

const SIDE: f64 = 520.0;
const EDGE: f64 = 56.0;
const FIT: &str = "#9db4c8";
const HELD_OUT: &str = "#c2410c";

/// The plot of one set's rows with their predictions.
pub fn scatter(title: &str, rows: &[(&Row, f64)]) -> String {
    let values = || rows.iter().flat_map(|(row, predicted)| [row.measured_us, *predicted]);
    let low = values().fold(f64::INFINITY, f64::min).log10().floor();
    let high = values().fold(f64::NEG_INFINITY, f64::max).log10().ceil().max(low + 1.0);
    let place = |us: f64| (us.log10() - low) / (high - low) * (SIDE - 2.0 * EDGE);
    let (x, y) = (|us: f64| EDGE + place(us), |us: f64| SIDE - EDGE - place(us));
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}" font-family="sans-serif" font-size="12">
<rect width="{SIDE}" height="{SIDE}" fill="white"/>
<text x="{}" y="24" text-anchor="middle" font-size="15">{}</text>"#,
        SIDE / 2.0,
        escaped(title)
    );
    for decade in low as i32..=high as i32 {
        let us = 10f64.powi(decade);
        let _ = writeln!(
            svg,
            r##"<path d="M{x:.1} {EDGE}V{bottom}M{EDGE} {y:.1}H{bottom}" stroke="#e5e7eb"/>
<text x="{x:.1}" y="{}" text-anchor="middle">{us}</text><text x="{}" y="{:.1}" text-anchor="end">{us}</text>"##,
            SIDE - EDGE + 18.0,
            EDGE - 6.0,
            y(us) + 4.0,
            x = x(us),
            y = y(us),
            bottom = SIDE - EDGE,
        );
    }
    let (from, to) = (10f64.powf(low), 10f64.powf(high));
    let _ = writeln!(
        svg,
        r##"<path d="M{:.1} {:.1}L{:.1} {:.1}" stroke="#111827"/>
<text x="{}" y="{}" text-anchor="middle">measured, microseconds</text>
<text transform="translate(14 {}) rotate(-90)" text-anchor="middle">predicted, microseconds</text>"##,
        x(from),
        y(from),
        x(to),
        y(to),
        SIDE / 2.0,
        SIDE - 12.0,
        SIDE / 2.0
    );
    for held_out in [false, true] {
        let colour = if held_out { HELD_OUT } else { FIT };
        for (row, predicted) in rows.iter().filter(|(row, _)| row.held_out == held_out) {
            let _ = writeln!(
                svg,
                r#"<circle cx="{:.1}" cy="{:.1}" r="2" fill="{colour}" fill-opacity="0.6"/>"#,
                x(row.measured_us),
                y(*predicted)
            );
        }
    }
    let _ = writeln!(
        svg,
        r#"<circle cx="{0}" cy="48" r="4" fill="{FIT}"/><text x="{1}" y="52">seen by the fit</text>
<circle cx="{0}" cy="66" r="4" fill="{HELD_OUT}"/><text x="{1}" y="70">held out</text>
</svg>"#,
        EDGE + 14.0,
        EDGE + 24.0
    );
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
