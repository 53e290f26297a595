//! The report on a served model in words.

use crate::table::{fixed, table};
use aoe::report::counted;
use aoe::serving::{
    AS_IS, Choice, Deployment, Figures, Given, Largest, Lever, Parameters, Quantization, Reach, Report, Step, StepTime,
    Time, Tuned,
};
use std::collections::{BTreeMap, BTreeSet};

/// Products shown; JSON has all.
const MOST_PRODUCTS: usize = 24;

/// Stands where a time would.
const NO_ROOM: &str = "does not fit";

/// The whole report.
pub fn of(report: &Report) -> String {
    let mut lines = head(report);
    for part in [figures(report), split(report), products(report), range(report), levers(report), notes(report)] {
        if !part.is_empty() {
            lines.push(String::new());
            lines.extend(part);
        }
    }
    lines.join("\n") + "\n"
}

fn head(report: &Report) -> Vec<String> {
    let Report { model, deployment, memory, soc, devices, .. } = report;
    let Deployment { tensor_parallel, expert_parallel, quantization, .. } = deployment;
    let kind = if *quantization == Quantization::None { String::new() } else { format!(" in {}", quantization.name()) };
    let room = match memory.tokens {
        Some(_) if !memory.holds_weights() => ", which do not fit".to_owned(),
        Some(tokens) => format!(", and has room for the cache of {tokens} tokens"),
        None => String::new(),
    };
    let mut lines = vec![
        format!(
            "{}: {} layers of {} on {soc}, {devices} device{} (tensor {tensor_parallel}, experts {expert_parallel}), {} {}",
            model.family,
            model.layers,
            model.hidden,
            if *devices == 1 { "" } else { "s" },
            deployment.dtype.name(),
            quantization.name(),
        ),
        format!("{}; a device holds {:.1} GB of them{kind}{room}", weights(report), memory.weights as f64 / 1e9),
    ];
    lines.extend(report.calibration.as_ref().map(|by| format!("Times corrected by {by}")));
    lines
}

/// How many parameters there are, and what they take unquantised: whether the configuration was understood.
fn weights(report: &Report) -> String {
    let Parameters { total, of_token } = report.parameters;
    let billions = |count: u64| {
        let (count, digits) =
            (count as f64 / 1e9, usize::from(count < 10_000_000_000) + usize::from(count < 100_000_000_000));
        format!("{count:.digits$} B")
    };
    let active = if of_token < total { format!(", {} of them for a token", billions(of_token)) } else { String::new() };
    let dtype = report.deployment.dtype;
    let bytes = total as f64 * f64::from(dtype.bits()) / 8.0;
    format!("Weights: {} parameters{active}, {:.1} GB in {}", billions(total), bytes / 1e9, dtype.name())
}

/// A time in milliseconds, with its interval.
fn ms(time: Time) -> String {
    let shown = |us: f64| if us < 1e5 { format!("{:.2}", us / 1e3) } else { format!("{:.0}", us / 1e3) };
    match time.interval_us {
        Some([low, high]) => format!("{} ({}-{})", shown(time.us), shown(low), shown(high)),
        None => shown(time.us),
    }
}

/// A lever's time; words where its kernels need more memory than a device has.
fn ms_or_not(time: Option<Time>) -> String {
    time.map_or_else(|| NO_ROOM.to_owned(), ms)
}

/// A row for each point of a kind that no device can hold.
fn no_room(report: &Report, prefill: bool) -> impl Iterator<Item = [String; 7]> {
    report.figures.does_not_fit.iter().filter(move |point| point.prefill == prefill).map(|point| {
        let [batch, length] = [point.batch, point.length].map(|number| number.to_string());
        [batch, length, NO_ROOM.to_owned(), String::new(), String::new(), String::new(), String::new()]
    })
}

/// Whether the caches of a batch and length fit; nothing where they do.
fn cache(report: &Report, batch: u64, length: u64) -> String {
    if report.memory.holds(batch, length) { String::new() } else { "no room".to_owned() }
}

/// What a step waits for most.
fn bound(step: Option<&StepTime>) -> String {
    let most = step.and_then(|step| {
        let largest = step.bounds.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(format!("{} {:.0} %", largest.0, 100.0 * largest.1 / step.time.us.max(f64::MIN_POSITIVE)))
    });
    most.unwrap_or_default()
}

fn figures(report: &Report) -> Vec<String> {
    let Figures { prefill, decode, .. } = &report.figures;
    let after =
        |of: &dyn Fn(&Figures) -> Option<Time>| report.with_records.as_ref().and_then(of).map_or(String::new(), ms);
    // Where no record came to run there is nothing to tell; what they would gain stands with the products.
    let with_records = if report.with_records.is_some() { "with records" } else { "" };
    let mut lines = vec!["Time to the first token, ms (mean of a batch that arrives together)".to_owned()];
    let rows: Vec<_> = prefill
        .iter()
        .enumerate()
        .map(|(at, p)| {
            let waits = p.steps.first().and_then(|(step, _)| report.figures.step(*step));
            let tuned = after(&|figures| figures.prefill.get(at).map(|p| p.ttft));
            [
                p.batch.to_string(),
                p.prompt.to_string(),
                ms(p.ttft),
                ms(p.last),
                tuned,
                bound(waits),
                cache(report, p.batch, p.prompt),
            ]
        })
        .chain(no_room(report, true))
        .collect();
    lines.extend(table(["batch", "prompt", "TTFT", "the last", with_records, "waits for", "cache"], "rrrrrll", &rows));
    lines.push(String::new());
    lines.push("Time for each output token, ms".to_owned());
    let rows: Vec<_> = decode
        .iter()
        .enumerate()
        .map(|(at, d)| {
            let waits = report.figures.step(Step::decode(d.batch, d.context));
            let tuned = after(&|figures| figures.decode.get(at).map(|d| d.tpot));
            let rate = format!("{:.0}", d.tokens_per_s);
            [
                d.batch.to_string(),
                d.context.to_string(),
                ms(d.tpot),
                rate,
                tuned,
                bound(waits),
                cache(report, d.batch, d.context),
            ]
        })
        .chain(no_room(report, false))
        .collect();
    lines.extend(table(["batch", "context", "TPOT", "tokens/s", with_records, "waits for", "cache"], "rrrrrll", &rows));
    lines
}

/// Where the time goes, for a step of either kind.
fn split(report: &Report) -> Vec<String> {
    let middle = |prefill: bool| {
        let steps: Vec<&StepTime> = report.figures.steps.iter().filter(|s| s.step.prefill == prefill).collect();
        steps.get(steps.len() / 2).copied()
    };
    let mut lines = Vec::new();
    for step in [middle(true), middle(false)].into_iter().flatten() {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let Step { prefill, sequences, tokens_each, context } = step.step;
        let what = if prefill { "reads" } else { "makes" };
        lines.push(format!(
            "A step that {what} {sequences} x {tokens_each} tokens of {context}: {} ms, {} kernels",
            ms(step.time),
            step.launches
        ));
        let share = |us: f64| format!("{:.1} %", 100.0 * us / step.time.us.max(f64::MIN_POSITIVE));
        let mut rows: Vec<(f64, [String; 4])> = step
            .classes
            .iter()
            .map(|(class, t)| {
                (t.time.us, [class.name().to_owned(), t.launches.to_string(), ms(t.time), share(t.time.us)])
            })
            .collect();
        rows.push((
            step.launch_us,
            [
                "waiting for launches".to_owned(),
                String::new(),
                ms(Time { us: step.launch_us, interval_us: None }),
                share(step.launch_us),
            ],
        ));
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
        lines.extend(table(["class", "launches", "ms", "share"], "lrrr", &rows));
    }
    lines
}

fn products(report: &Report) -> Vec<String> {
    if report.products.is_empty() {
        return Vec::new();
    }
    let reached = report.products.iter().filter(|p| p.reach == Reach::Bank).count();
    let recorded = report.products.iter().filter(|p| p.recorded).count();
    let mut lines = vec![format!(
        "Products: {} distinct, {reached} of operators whose bank CANN queries, {recorded} recorded",
        report.products.len()
    )];
    lines.extend(report.files.iter().map(|file| format!("  {}", file.display())));
    lines.extend(report.records.as_ref().map(given));
    let apart: Vec<&Tuned> = report.products.iter().filter(|p| p.to_measure).collect();
    if !apart.is_empty() {
        let us: f64 = apart.iter().filter_map(|p| Some(p.before_us - p.unsure_us?)).sum();
        let count = counted(apart.len() as u64, "more record", "more records");
        lines.push(format!("  {count} may save {} us, launched once each, or nothing", fixed(us, 1)));
        lines.extend(report.to_measure.iter().map(|file| format!("  {}", file.display())));
    }
    let mut sorted: Vec<&Tuned> = report.products.iter().collect();
    sorted.sort_by(|a, b| (b.before_us - b.after_us).total_cmp(&(a.before_us - a.after_us)));
    let row = |p: &&Tuned| {
        let roles: Vec<&str> = p.roles.iter().copied().collect();
        let us = |us: f64| format!("{us:.1}");
        [p.op.clone(), p.work.clone(), roles.join(", "), us(p.before_us), us(p.after_us), p.outcome().to_owned()]
    };
    let rows: Vec<_> = sorted.iter().take(MOST_PRODUCTS).map(row).collect();
    lines.extend(table(["operator", "work", "part", "us", "tuned us", ""], "lllrrl", &rows));
    if sorted.len() > MOST_PRODUCTS {
        lines.push(format!("{} more in the JSON report", sorted.len() - MOST_PRODUCTS));
    }
    let levers: BTreeMap<&str, &str> = report.products.iter().filter_map(|p| Some((p.op.as_str(), p.lever?))).collect();
    if !levers.is_empty() {
        lines.push("No bank reaches:".to_owned());
        lines.extend(levers.iter().map(|(op, lever)| format!("  {op}: {lever}")));
    }
    lines
}

/// What the records give, in a sentence.
fn given(given: &Given) -> String {
    let Given { written, asking, largest } = given;
    let records = counted(*written as u64, "record", "records");
    let Some(Largest { op, work, before_us, gain }) = largest else {
        let why = if *asking == 0 { "no product's operator asks a bank" } else { "nothing better was found" };
        return format!("What the records give: nothing, {records}: {why}");
    };
    let [low, high] = gain.interval_us.map(|us| fixed(us, 1));
    let largest = format!("{} us [{low}, {high}] of {before_us:.1} us a launch ({op} {work})", fixed(gain.us, 1));
    if *written == 0 {
        format!(
            "What the records give: nothing, {records}: no gain's interval excludes zero; the largest gain is {largest}"
        )
    } else {
        format!("What the records give: {records}, the times \"with records\" above; the largest gain is {largest}")
    }
}

fn range(report: &Report) -> Vec<String> {
    let Some(choice) = &report.range else { return Vec::new() };
    let most = report.deployment.step_tokens;
    let Choice { looked_at, keys, .. } = choice;
    let over = if *looked_at as u64 == *keys { format!("all {keys}") } else { format!("{looked_at} of the {keys}") };
    let mut lines = vec![
        format!("Steps of any number of tokens up to {most}: tune {}", listed(choice)),
        format!(
            "  over {over} keys of records (multiples of 16), each for the numbers below it; prefill, and decode of as many sequences"
        ),
        loss(choice),
    ];
    if let Some(choice) = &report.range_if_true {
        lines.push(format!("  were all gains true that are not sure: tune {}", listed(choice)));
        lines.push(loss(choice));
    }
    lines
}

fn listed(choice: &Choice) -> String {
    let tokens: Vec<String> = choice.tokens.iter().map(u64::to_string).collect();
    if tokens.is_empty() { "none, as none gains surely".to_owned() } else { tokens.join(", ") }
}

fn loss(choice: &Choice) -> String {
    format!(
        "  products of a step, mean: {:.0} us by default, {:.0} with these (padded up to them where that is faster), {:.0} with every number tuned: a loss of {:.1} %",
        choice.default_us,
        choice.chosen_us,
        choice.every_us,
        100.0 * choice.loss
    )
}

/// The rows of the middle batch and length, and for every batch at that length the best that keeps the batch.
fn levers(report: &Report) -> Vec<String> {
    let as_is: Vec<&Lever> = report.levers.iter().filter(|lever| lever.name == AS_IS).collect();
    let batches: BTreeSet<u64> = as_is.iter().map(|lever| lever.asked_batch).collect();
    let Some(lengths) = as_is.len().checked_div(batches.len()) else { return Vec::new() };
    let middle = as_is[batches.len() / 2 * lengths + lengths / 2];
    let of_middle: Vec<&Lever> =
        report.levers.iter().filter(|lever| (lever.prompt, lever.context) == (middle.prompt, middle.context)).collect();
    let mut lines =
        vec![format!("What else could be done, for prompts of {} and contexts of {}", middle.prompt, middle.context)];
    let rows: Vec<_> = of_middle
        .iter()
        .filter(|lever| lever.asked_batch == middle.asked_batch)
        .map(|lever| lever_row(lever))
        .collect();
    lines.extend(table(["", "batch", "TTFT ms", "TPOT ms", "tokens/s a device", "cache tokens"], "lrrrrr", &rows));
    lines.push("Without a price:".to_owned());
    lines.extend(report.unpriced.iter().map(|lever| format!("  {}: {}", lever.name, lever.reason)));
    if batches.len() > 1 {
        lines.push(String::new());
        lines.push(
            "The best for each batch, among those whose weights and caches fit; JSON has every length".to_owned(),
        );
        let rows: Vec<_> = batches.iter().filter_map(|batch| best_row(&of_middle, *batch)).collect();
        lines.extend(table(
            ["batch", "TPOT ms", "least with", "", "tokens/s a device", "most with", ""],
            "rrlrrlr",
            &rows,
        ));
    }
    lines
}

fn lever_row(lever: &Lever) -> [String; 6] {
    let fits = match lever.cache_tokens {
        Some(0) => "weights do not fit".to_owned(),
        Some(tokens) => tokens.to_string(),
        None => String::new(),
    };
    [lever.name.clone(), lever.batch.to_string(), ms_or_not(lever.ttft), ms_or_not(lever.tpot), rate(lever), fits]
}

/// Tokens a second of a device; nothing where there is no time.
fn rate(lever: &Lever) -> String {
    lever.tokens_per_device_s.map_or_else(String::new, |rate| format!("{rate:.0}"))
}

/// What a batch has today, the lever with the shortest step and the one with most tokens a second of a device.
fn best_row(levers: &[&Lever], batch: u64) -> Option<[String; 7]> {
    let of_batch = |lever: &&&Lever| lever.asked_batch == batch && lever.batch == batch;
    let today = levers.iter().filter(of_batch).find(|lever| lever.name == AS_IS)?;
    let fit = || levers.iter().filter(of_batch).filter(|lever| lever.fits());
    let us = |lever: &Lever| lever.tpot.map_or(f64::INFINITY, |tpot| tpot.us);
    let most_tokens = |lever: &Lever| lever.tokens_per_device_s.unwrap_or_default();
    let fast = fit().min_by(|a, b| us(a).total_cmp(&us(b)));
    // The first of equals, which is what is asked for.
    let most = fit().min_by(|a, b| most_tokens(b).total_cmp(&most_tokens(a)));
    let [mut with, mut least] = ["none that fits".to_owned(), String::new()];
    let [mut at_most, mut tokens] = [with.clone(), String::new()];
    if let (Some(fast), Some(most)) = (fast, most) {
        [with, least] = [fast.name.clone(), ms_or_not(fast.tpot)];
        [at_most, tokens] = [most.name.clone(), rate(most)];
    }
    Some([batch.to_string(), ms_or_not(today.tpot), with, least, rate(today), at_most, tokens])
}

fn notes(report: &Report) -> Vec<String> {
    report.notes.iter().map(|note| format!("Note: {note}")).collect()
}
