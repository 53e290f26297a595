//! The report as a browser shows it. Ignored unless asked for: it needs Chromium, which `scripts/test` looks for.

mod browser;

use browser::Browser;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Every section of a page on operators and subgraphs.
const SECTIONS: [&str; 9] =
    ["headline", "operators", "network", "time", "convergence", "scopes", "roofline", "backend", "bank"];
/// Every section of a page on gradients.
const OF_GRADIENTS: [&str; 6] = ["headline", "gradients", "time", "roofline", "backend", "bank"];

/// What there is on the page.
const FOUND: &str = r"(() => {
    const page = document, size = element => { const box = element.getBoundingClientRect(); return [box.width, box.height]; };
    const all = [...page.querySelectorAll('header, section')];
    return {
        sections: Object.fromEntries(all.map(s => [s.id, size(s)])),
        texts: Object.fromEntries(all.map(s => [s.id, s.innerText.length])),
        empty: [...page.querySelectorAll('svg')].filter(svg => size(svg).includes(0) && !svg.closest('details:not([open])')).length,
        drawings: Object.fromEntries(all.map(s => [s.id, s.querySelectorAll('svg').length])),
        unknown: [...page.querySelectorAll('.none')].map(p => p.closest('section').id),
        stacks: [...page.querySelectorAll('#time .stack svg')].map(svg => [...svg.querySelectorAll('rect')].filter(r => size(r)[0] > 1).length),
        marks: ['ring', 'disc'].map(shape => page.querySelectorAll('#roofline circle.' + shape).length),
        nameless: [...page.querySelectorAll('svg:not([aria-label]):not([aria-labelledby])')].length,
        unlabelled: [...page.querySelectorAll('input, select')].filter(field => !field.labels.length).length,
        overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    };
})()";

/// The least contrast of a text with what is behind it.
const CONTRAST: &str = r"(() => {
    const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const colour = text => text.match(/[\d.]+/g).map(Number);
    const behind = element => {
        for (let e = element; e; e = e.parentElement) {
            const back = colour(getComputedStyle(e).backgroundColor);
            if (back.length < 4 || back[3] > 0.99) return back;
        }
        return [255, 255, 255];
    };
    const texts = [...document.querySelectorAll('h1, h2, p, th, td, dt, dd, a, summary, button, label, li, figcaption')].filter(e => e.innerText && e.offsetParent);
    const contrast = e => {
        const [a, b] = [colour(getComputedStyle(e).color), behind(e)].map(luminance).sort((a, b) => b - a);
        return (a + 0.05) / (b + 0.05);
    };
    return Math.min(...texts.map(contrast));
})()";

/// Texts of a column of the rows that are shown, as they stand.
fn column(browser: &mut Browser, at: usize) -> Vec<String> {
    let cells = format!(
        "[...document.querySelectorAll('#ops > tbody:not([hidden]) > tr:first-child')].map(r => r.cells[{at}].textContent)"
    );
    serde_json::from_value(browser.value(&cells)).unwrap()
}

/// Microseconds of a time as the page writes it.
fn microseconds(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or_else(|| panic!("{text}"));
    let scale = match unit {
        "ns" => 1e-3,
        "µs" => 1.0,
        "ms" => 1e3,
        other => panic!("{other}"),
    };
    number.parse::<f64>().unwrap() * scale
}

/// Tunes a bundled model into a results folder.
fn tuned(place: &TempDir, arguments: &[&str]) -> PathBuf {
    let model = if arguments.contains(&"4") { "training/resnet50.air" } else { "models/resnet50.onnx" };
    tuned_model(place, model, arguments)
}

fn tuned_model(place: &TempDir, model: &str, arguments: &[&str]) -> PathBuf {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(model);
    run(
        place,
        Command::new(env!("CARGO_BIN_EXE_aoe"))
            .args(["--backend=simulator", "--max_tuning_count=100", "--output=out/", "--model"])
            .arg(model)
            .args(arguments),
    );
    place.path().join("out")
}

fn run(place: &TempDir, command: &mut Command) {
    let output = command.current_dir(place.path()).env_clear().env("TUNE_BANK_PATH", place.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A report of so many operators, from those of a tuning: each has a name and times of its own.
fn with_operators(place: &TempDir, count: usize, name: impl Fn(usize) -> String) -> PathBuf {
    let folder = tuned(place, &["--job_type", "1,2", "--framework", "5"]);
    let path = folder.join("report.json");
    let mut report: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let known = report["kernels"].as_array().unwrap().clone();
    let kernels: Vec<Value> = (0..count)
        .map(|at| {
            let mut kernel = known[at % known.len()].clone();
            for time in ["before_us", "after_us"] {
                kernel[time] = json!(kernel[time].as_f64().unwrap() * (1.0 + (at * 7919 % 1000) as f64 / 500.0));
            }
            kernel["nodes"] = json!([{"name": name(at), "op_type": kernel["op_type"]}]);
            kernel
        })
        .collect();
    let launched = |kernel: &Value| {
        json!({"bound": kernel["bound"], "count": kernel["count"], "name": kernel["nodes"][0]["name"],
            "op_type": kernel["op_type"], "task_type": "AI_CORE", "us": kernel["after_us"], "work": kernel["work"],
            "workload": kernel["workload"]})
    };
    let list: Vec<Value> = kernels.iter().map(launched).collect();
    let step = |(at, kernel): (usize, &Value)| json!({"count": 1, "kernel": at, "us": kernel["after_us"]});
    let steps: Vec<Value> = kernels.iter().enumerate().map(step).collect();
    report["runs"] = json!({"after": list, "before": list, "sequence_after": steps, "sequence_before": steps});
    report["kernels"] = kernels.into();
    std::fs::write(&path, report.to_string()).unwrap();
    run(place, Command::new(env!("CARGO_BIN_EXE_aoe")).args(["report", "out"]));
    folder
}

/// A name as exporters make them, of a layer of a deep network.
fn layer(at: usize) -> String {
    format!("/model/transformer/decoder/layers.{}/self_attention/output/dense_{}/MatMul", at / 12, at % 12)
}

#[test]
#[ignore = "needs Chromium: scripts/test runs it where it finds one"]
fn every_section_shows_on_wide_and_narrow_screens_and_nothing_is_fetched() {
    let mut browser = Browser::start();
    for (job, framework) in [("1,2", "5"), ("1", "5"), ("2", "5"), ("4", "1")] {
        let sections = if job == "4" { &OF_GRADIENTS[..] } else { &SECTIONS };
        let place = TempDir::new().unwrap();
        let folder = tuned(&place, &["--job_type", job, "--framework", framework]);
        for (width, scheme) in [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")] {
            browser.screen(width, 900, scheme);
            browser.open(&folder.join("report.html"));
            let found = browser.value(FOUND);
            assert_eq!(found["sections"].as_object().unwrap().len(), sections.len(), "{found}");
            for &id in sections {
                let size = found["sections"][id].as_array().unwrap_or_else(|| panic!("no {id}: {found}"));
                assert!(size.iter().all(|length| length.as_f64().unwrap() > 60.0), "{id}: {found}");
                assert!(found["texts"][id].as_u64().unwrap() > 60, "{id}: {found}");
            }
            for none in ["empty", "nameless", "unlabelled"] {
                assert_eq!(found[none], 0, "{none}: {found}");
            }
            // Nothing is left without data but the searches and the fusion that this job does not have.
            let unknown = match job {
                "1" => json!(["convergence"]),
                "2" => json!(["scopes"]),
                _ => json!([]),
            };
            assert_eq!(found["unknown"], unknown, "job {job}: {found}");
            let drawn = ["headline", "time", "roofline", "network"];
            for id in drawn.into_iter().filter(|id| sections.contains(id)) {
                assert!(found["drawings"][id].as_u64().unwrap() >= 1, "{id} of job {job}: {found}");
            }
            // Both moments have bars of several bounds, and rings or discs of several kernels.
            for of in ["stacks", "marks"] {
                let counts: Vec<u64> = serde_json::from_value(found[of].clone()).unwrap();
                assert!(counts.len() == 2 && counts.iter().all(|count| *count >= 2), "{of} of job {job}: {found}");
            }
            assert!(found["overflow"].as_i64().unwrap() <= 0, "{width} wide, job {job}: {found}");
            let contrast = browser.value(CONTRAST).as_f64().unwrap();
            assert!(contrast >= 4.5, "{contrast} to 1 in {scheme}, job {job}");
            assert_eq!(browser.errors(), &[] as &[String]);
            assert_eq!(browser.requests().len(), 1, "{:?}", browser.requests());
        }
    }
}

#[test]
#[ignore = "needs Chromium: scripts/test runs it where it finds one"]
fn the_table_is_sorted_narrowed_and_opened_with_the_keyboard() {
    let place = TempDir::new().unwrap();
    let folder = tuned(&place, &["--job_type", "1,2", "--framework", "5"]);
    let mut browser = Browser::start();
    browser.screen(1400, 900, "light");
    browser.open(&folder.join("report.html"));
    let times = column(&mut browser, 1);
    let all = times.len();
    assert!(all > 20 && times.windows(2).all(|pair| microseconds(&pair[0]) >= microseconds(&pair[1])), "{times:?}");
    let heading = |at: usize| format!("document.querySelectorAll('#ops > thead th')[{at}]");
    let sorted = |at: usize| format!("{}.getAttribute('aria-sort')", heading(at));
    assert_eq!(browser.value(&sorted(1)), "descending");
    for at in [0, 1, 2, 3, 4, 6, 7, 8] {
        let mut seen = Vec::new();
        for _ in 0..2 {
            browser.value(&format!("{}.firstElementChild.focus()", heading(at)));
            browser.press("Enter");
            let order = browser.value(&sorted(at)).as_str().unwrap().to_owned();
            let others = browser.value("document.querySelectorAll('#ops [aria-sort=none]').length");
            assert_eq!(others, 7, "one column is sorted by");
            let mut texts = column(&mut browser, at);
            assert_eq!(texts.len(), all);
            if order == "descending" {
                texts.reverse();
            }
            let number = |text: &String| {
                if at < 3 { microseconds(text) } else { text.trim_end_matches([' ', '%']).parse().unwrap() }
            };
            let is_sorted = match at {
                1..=4 => texts.windows(2).all(|pair| number(&pair[0]) <= number(&pair[1])),
                6.. => texts.windows(2).all(|pair| pair[0].to_lowercase() <= pair[1].to_lowercase()),
                _ => texts != times,
            };
            assert!(is_sorted, "column {at}, {order}: {texts:?}");
            seen.push(order);
        }
        seen.sort();
        assert_eq!(seen, ["ascending", "descending"]);
    }
    // A row, by Tab from the last heading and the space bar.
    browser.value(&format!("{}.firstElementChild.focus()", heading(8)));
    browser.press("Tab");
    let focused = "document.activeElement.closest('tbody') === document.querySelector('#ops > tbody')";
    assert_eq!(browser.value(focused), true);
    assert_eq!(browser.value("getComputedStyle(document.activeElement).outlineStyle"), "solid", "the focus shows");
    for (key, expanded) in [(" ", "true"), ("Enter", "false"), ("Enter", "true")] {
        browser.press(key);
        assert_eq!(browser.value("document.activeElement.getAttribute('aria-expanded')"), expanded);
        let shown = "document.getElementById(document.activeElement.getAttribute('aria-controls')).offsetHeight > 60";
        assert_eq!(browser.value(shown), expanded == "true");
    }
    assert_eq!(browser.value("document.querySelectorAll('#ops .opened').length"), 1, "details are made once");
    assert_eq!(browser.errors(), &[] as &[String]);
}

#[test]
#[ignore = "needs Chromium: scripts/test runs it where it finds one"]
fn an_opened_row_tells_what_the_report_has_of_it() {
    let place = TempDir::new().unwrap();
    let part = ["--job_type", "1,2", "--framework", "5", "--soc_version", "Ascend910B4"];
    let folder = tuned_model(&place, "models/bert_base.onnx", &part);
    let report: Value = serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    // CANN's default of TBE's products is an estimate: what beats it is to be measured.
    let mut found = kernels.iter().filter(|kernel| kernel["status"] == "to_measure");
    let kernel =
        found.find(|kernel| kernel["held_after"]["buffers"]["L1"].is_object()).expect("a faster tiling was found");
    let mut browser = Browser::start();
    for (width, scheme) in [(1400, "light"), (390, "dark")] {
        browser.screen(width, 900, scheme);
        browser.open(&folder.join("report.html"));
        let name = kernel["nodes"][0]["name"].as_str().unwrap();
        browser.value(&format!(
            "[...document.querySelectorAll('#ops > tbody')].find(b => [b.rows[0].cells[0].title, b.rows[0].cells[0].textContent.split(' ×')[0]].includes({})).querySelector('button').click()",
            json!(name)
        ));
        let text = browser.value("document.querySelector('#ops .opened').innerText").as_str().unwrap().to_owned();
        for part in [
            "What a core holds",
            "Cycles of the pipes",
            "What all cores move",
            "Best candidates",
            "the best",
            "Why it seems faster",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        let kib = kernel["held_after"]["buffers"]["L0B"]["bytes"].as_f64().unwrap() / 1024.0;
        let mte2 = kernel["predicted_before"]["cycles"]["mte2"].as_f64().unwrap();
        for number in [format!("{kib} KiB"), format!("{mte2}")] {
            assert!(text.contains(&number), "{number} is missing in {text}");
        }
        let lanes = browser.value("document.querySelectorAll('#ops .opened svg rect').length");
        assert!(lanes.as_u64().unwrap() >= 3, "{lanes} bars of the timeline");
        assert_eq!(browser.value(FOUND)["overflow"], 0, "{width} wide");
        assert!(browser.value(CONTRAST).as_f64().unwrap() >= 4.5);
    }
    assert_eq!(browser.errors(), &[] as &[String]);
}

#[test]
#[ignore = "needs Chromium: scripts/test runs it where it finds one"]
fn without_scripts_and_on_paper_the_table_is_whole() {
    let place = TempDir::new().unwrap();
    let folder = tuned(&place, &["--job_type", "2", "--framework", "5"]);
    let mut browser = Browser::start();
    browser.screen(1400, 900, "light");
    browser.allow_scripts(false);
    browser.open(&folder.join("report.html"));
    let shown =
        browser.value("[...document.querySelectorAll('#ops > tbody > tr')].every(row => row.offsetHeight > 10)");
    let hidden = browser.value("document.getElementById('filters').offsetHeight");
    assert_eq!((shown, hidden), (true.into(), 0.into()));
    assert!(browser.value("document.querySelector('#ops').innerText").as_str().unwrap().contains("KiB"));
    browser.allow_scripts(true);
    browser.open(&folder.join("report.html"));
    browser.media("print", "dark");
    let paper = browser
        .value("[getComputedStyle(document.body).backgroundColor, document.getElementById('filters').offsetHeight]");
    assert_eq!(paper, json!(["rgb(255, 255, 255)", 0]));
}

#[test]
#[ignore = "needs Chromium: scripts/test runs it where it finds one"]
fn a_thousand_operators_are_one_page_under_two_megabytes_and_are_searched() {
    let place = TempDir::new().unwrap();
    let folder = with_operators(&place, 1000, layer);
    let bytes = std::fs::metadata(folder.join("report.html")).unwrap().len();
    assert!(bytes < 2_000_000, "{bytes} bytes");
    assert!(!folder.join("report_more.html").exists());
    let mut browser = Browser::start();
    browser.screen(390, 844, "dark");
    browser.open(&folder.join("report.html"));
    let mut names = column(&mut browser, 0);
    assert_eq!(names.len(), 1000);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 1000, "shortened names are told apart");
    // What is typed is looked for in the whole name.
    browser.value("document.getElementById('find').focus()");
    for letter in ["d", "e", "n", "s", "e", "_", "1", "1"] {
        browser.press(letter);
    }
    assert_eq!(column(&mut browser, 0).len(), 1000 / 12);
    assert_eq!(browser.value("document.getElementById('found').textContent"), "83 of 1000 operators");
    for (field, at) in [("of-type", 6), ("of-status", 7), ("of-reader", 8)] {
        let choose = format!(
            "(() => {{ const s = document.getElementById('{field}'); s.value = s.options[s.options.length - 1].value;
            s.dispatchEvent(new Event('input', {{bubbles: true}})); return s.value; }})()"
        );
        let wanted = browser.value(&choose);
        let texts = column(&mut browser, at);
        assert!(texts.iter().all(|text| *text == wanted), "{wanted}: {texts:?}");
    }
    assert_eq!(browser.value(FOUND)["overflow"], 0);
    assert_eq!(browser.errors(), &[] as &[String]);
}

#[test]
#[ignore = "needs Chromium: scripts/test runs it where it finds one"]
fn more_operators_have_a_second_page_that_goes_with_them_and_hostile_names_run_nothing() {
    let place = TempDir::new().unwrap();
    let hostile = |at: usize| {
        format!("</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">{at}")
    };
    let folder = with_operators(&place, 1500, hostile);
    let (first, more) = (folder.join("report.html"), folder.join("report_more.html"));
    let mut browser = Browser::start();
    let mut rows = 0;
    for page in [&first, &more] {
        assert!(std::fs::metadata(page).unwrap().len() < 2_000_000);
        browser.screen(1400, 900, "light");
        browser.open(page);
        rows += column(&mut browser, 0).len();
        browser.value("document.querySelector('#ops tbody button').click()");
        assert_eq!(browser.value("document.images.length"), 0);
        assert_ne!(browser.value("document.title"), "taken");
        assert_eq!(browser.errors(), &[] as &[String]);
        assert_eq!(browser.requests().len(), 1, "{:?}", browser.requests());
    }
    assert_eq!(rows, 1500);
    assert_eq!(browser.value("document.querySelector('a[href=\"report.html\"]') !== null"), true);
    // A report of fewer operators takes the second page away.
    tuned(&place, &["--job_type", "2", "--framework", "5"]);
    assert!(first.exists() && !more.exists());
}
