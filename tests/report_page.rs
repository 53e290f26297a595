//! The report as a browser shows it. Ignored unless asked for: it needs Chromium, which `scripts/test` looks for.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Every section of a page on operators and subgraphs.
const SECTIONS: [&str; 8] = ["headline", "operators", "time", "convergence", "scopes", "roofline", "backend", "bank"];
/// Every section of a page on gradients.
const OF_GRADIENTS: [&str; 6] = ["headline", "gradients", "time", "roofline", "backend", "bank"];

/// A page that opens the report in a frame and writes down what it finds there.
const PROBE: &str = r#"<!DOCTYPE html><meta charset="utf-8"><body><pre id="found"></pre>
<iframe src="report.html" width="WIDTH" height="900"></iframe><script>
document.querySelector('iframe').onload = event => {
    const { contentWindow: view, contentDocument: page } = event.target;
    const size = element => { const box = element.getBoundingClientRect(); return [box.width, box.height]; };
    const found = {
        sections: Object.fromEntries([...page.querySelectorAll('header, section')].map(s => [s.id, size(s)])),
        texts: Object.fromEntries([...page.querySelectorAll('header, section')].map(s => [s.id, s.innerText.length])),
        empty: [...page.querySelectorAll('svg')].filter(svg => size(svg).includes(0) && !svg.closest('details:not([open])')).length,
        drawings: Object.fromEntries([...page.querySelectorAll('header, section')].map(s => [s.id, s.querySelectorAll('svg').length])),
        unknown: [...page.querySelectorAll('.none')].map(p => p.closest('section').id),
        stacks: [...page.querySelectorAll('#time .stack svg')].map(svg => [...svg.querySelectorAll('rect')].filter(r => size(r)[0] > 1).length),
        marks: ['ring', 'disc'].map(shape => page.querySelectorAll('#roofline circle.' + shape).length),
        nameless: [...page.querySelectorAll('svg:not([aria-label]):not([aria-labelledby])')].length,
        scripts: page.scripts.length,
        requests: view.performance.getEntriesByType('resource').map(entry => entry.name),
        overflow: page.documentElement.scrollWidth - view.innerWidth,
    };
    document.getElementById('found').textContent = JSON.stringify(found);
};
</script>"#;

fn chromium() -> Command {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&paths).flat_map(|directory| names.map(|name| directory.join(name)));
    let program: PathBuf = places.into_iter().find(|path| path.is_file()).expect("Chromium is installed");
    let mut command = Command::new(program);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--allow-file-access-from-files", "--virtual-time-budget=10000"]);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// What the browser finds on the report in a folder, on a screen of this width.
fn looked_at(folder: &Path, width: u32) -> Value {
    let probe = folder.join("probe.html");
    std::fs::write(&probe, PROBE.replace("WIDTH", &width.to_string())).unwrap();
    let profile = TempDir::new().unwrap();
    let mut data = std::ffi::OsString::from("--user-data-dir=");
    data.push(profile.path());
    let shown = chromium().arg(data).arg("--dump-dom").arg(&probe).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    let found = text.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let found = found.unwrap_or_else(|| panic!("no answer in {text}")).0;
    serde_json::from_str(found).unwrap_or_else(|error| panic!("{error}: {found}"))
}

/// Tunes a bundled model into a results folder.
fn tuned(place: &TempDir, arguments: &[&str]) -> PathBuf {
    let model = if arguments.contains(&"4") { "training/resnet50.air" } else { "models/resnet50.onnx" };
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(model);
    let output = Command::new(env!("CARGO_BIN_EXE_aoe"))
        .current_dir(place.path())
        .env_clear()
        .env("TUNE_BANK_PATH", place.path())
        .args(["--backend=simulator", "--max_tuning_count=16", "--output=out/", "--model"])
        .arg(model)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    place.path().join("out")
}

#[test]
#[ignore = "needs Chromium: scripts/test runs it where it finds one"]
fn every_section_shows_on_wide_and_narrow_screens_and_nothing_is_fetched() {
    for (job, framework) in [("1,2", "5"), ("1", "5"), ("2", "5"), ("4", "1")] {
        let sections = if job == "4" { &OF_GRADIENTS[..] } else { &SECTIONS };
        let place = TempDir::new().unwrap();
        let folder = tuned(&place, &["--job_type", job, "--framework", framework]);
        for width in [1200, 400] {
            let found = looked_at(&folder, width);
            assert_eq!(found["sections"].as_object().unwrap().len(), sections.len(), "{found}");
            for &id in sections {
                let size = found["sections"][id].as_array().unwrap_or_else(|| panic!("no {id}: {found}"));
                assert!(size.iter().all(|length| length.as_f64().unwrap() > 60.0), "{id}: {found}");
                assert!(found["texts"][id].as_u64().unwrap() > 60, "{id}: {found}");
            }
            assert_eq!((&found["requests"], &found["scripts"]), (&Value::Array(Vec::new()), &0.into()));
            assert_eq!((&found["empty"], &found["nameless"]), (&0.into(), &0.into()), "{found}");
            // Nothing is left without data but the searches and the fusion that this job does not have.
            let unknown = match job {
                "1" => json!(["convergence"]),
                "2" => json!(["scopes"]),
                _ => json!([]),
            };
            assert_eq!(found["unknown"], unknown, "job {job}: {found}");
            for id in ["headline", "time", "roofline"] {
                assert!(found["drawings"][id].as_u64().unwrap() >= 1, "{id} of job {job}: {found}");
            }
            // Both moments have bars of several bounds, and rings or discs of several kernels.
            for of in ["stacks", "marks"] {
                let counts: Vec<u64> = serde_json::from_value(found[of].clone()).unwrap();
                assert!(counts.len() == 2 && counts.iter().all(|count| *count >= 2), "{of} of job {job}: {found}");
            }
            assert!(found["overflow"].as_i64().unwrap() <= 0, "{width} wide, job {job}: {found}");
        }
    }
}
