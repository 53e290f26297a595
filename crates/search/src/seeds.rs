//! A seed's trials are the same in every release until they are changed on purpose: a tuning that is resumed, or repeated
//! elsewhere, asks what it asked. What some searches asked stands in `seeds.txt`, one number each.
//!
//! `AOE_WRITE_SEEDS=1 cargo test -p aoe-search seeds` writes the list anew, where a change of the search is meant.

use super::space::Space;
use super::{Algorithm, Domain, Outcome, Search, Settings};
use std::fmt::Write as _;
use std::time::Duration;

const WRITTEN: &str = include_str!("seeds.txt");

/// Spaces of numbers in and out of order, of powers of two, of names and of switches, tied together and not.
const SPACES: [(&str, &str); 4] = [
    (
        "powers",
        r#"{"parameters":[{"name":"m","values":[16,32,64,128,256]},{"name":"n","values":[16,32,64,128,256]},
            {"name":"k","values":[16,32,64,128]},{"name":"order","values":["rows","columns","tiles"]},
            {"name":"twice","values":[false,true]}],"constraints":["m * n <= 16384","not twice or m * k <= 4096"]}"#,
    ),
    (
        "numbers",
        r#"{"parameters":[{"name":"a","values":[1,2,3,5,8,13,21]},{"name":"b","values":[0,1,2,3,4,5,6,7,8,9]},
            {"name":"c","values":[0.5,0.75,1.5,2.5]},{"name":"d","values":[-4,-1,0,1,4]}],
            "constraints":["a + b >= 3","(a + b) % 3 != 1 or c > 1"]}"#,
    ),
    (
        "names",
        r#"{"parameters":[{"name":"x","values":["p","q","r","s"]},{"name":"y","values":["u","v","w"]},
        {"name":"z","values":[true,false]},{"name":"one","values":[7]}]}"#,
    ),
    (
        "long",
        r#"{"parameters":[{"name":"a","values":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,
            29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,
            66,67,68,69,70]},{"name":"b","values":[1,2,3,4,5,6,7,8,9,10,11,12]},{"name":"c","values":[1,2,3,4,5,6,7,8]},
            {"name":"d","values":[1,2,3,4,5,6]}],"constraints":["a % b != 3"]}"#,
    ),
];

/// What the cost of a configuration is made of: arithmetic alone, the same on every machine.
fn cost(space: &Space, configuration: &[u32], noise: u32) -> Outcome {
    let mut cost = 100.0;
    let mut all = 0;
    for (at, (&index, &size)) in configuration.iter().zip(space.sizes()).enumerate() {
        let place = f64::from(index) - f64::from(size) * 0.6;
        cost += place * place * [1.0, 3.0, 0.5, 7.0, 2.0][at % 5];
        all += index * (at as u32 * 2 + 3);
    }
    match all % 11 {
        5 => Outcome::Failed,
        // A sixteenth more or less, by turns.
        rest => Outcome::Cost(
            cost * (1.0 + f64::from((rest * 7 + noise * 5) % 16) / if noise > 0 { 128.0 } else { 1024.0 }),
        ),
    }
}

/// Everything that a search asks, as one number (FNV-1a).
fn digest(space: &Space, settings: Settings, batch: usize) -> u64 {
    let noisy = settings.noise;
    let mut search = Search::new(space, settings).unwrap();
    let mut found = 0xcbf2_9ce4_8422_2325_u64;
    let mut say = |text: String| {
        for byte in text.bytes() {
            found = (found ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    let mut measured = 0;
    loop {
        let out: Vec<_> = std::iter::from_fn(|| search.ask()).take(batch).collect();
        if out.is_empty() {
            break;
        }
        for trial in out.into_iter().rev() {
            say(format!("{:?} {:?}", trial.configuration, trial.repeats));
            measured += 1;
            let outcome = cost(space, &trial.configuration, if noisy { measured } else { 0 });
            search.tell(trial.id, outcome).unwrap();
        }
    }
    say(format!("{:?} {:?}", search.stop_reason(), search.best().map(|best| best.0.to_vec())));
    found
}

/// Ways to search: name, settings, and how many trials are out at once.
fn ways(space: &Space) -> Vec<(&'static str, Settings, usize)> {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut draw = |count: usize| -> Vec<Vec<u32>> {
        (0..20 * count).filter_map(|_| space.sample(&mut rng)).take(count).collect()
    };
    let elsewhere = |c: Vec<u32>| match cost(space, &c, 3) {
        Outcome::Cost(cost) => (c, cost * 2.0),
        Outcome::Failed => (c, f64::INFINITY),
    };
    let prior: Vec<_> = draw(30).into_iter().map(elsewhere).collect();
    let known: Vec<_> = draw(12).into_iter().map(|c| (c.clone(), cost(space, &c, 0))).collect();
    let initial = draw(2);
    let cheap =
        Settings { evaluation: Some(Duration::from_micros(1)), seed: 5, max_trials: 150, ..Settings::default() };
    let dear = Settings { seed: 6, max_trials: 70, ..Settings::default() };
    vec![
        ("cheap", cheap.clone(), 1),
        ("cheap and noisy", Settings { noise: true, seed: 9, ..cheap.clone() }, 3),
        ("impatient", Settings { patience: Some(25), initial, ..cheap }, 4),
        ("dear", dear.clone(), 1),
        ("dear and noisy", Settings { noise: true, seed: 8, ..dear.clone() }, 2),
        ("known before", Settings { prior, known, resumes: true, seed: 7, ..dear }, 5),
    ]
}

#[test]
fn a_seed_asks_what_it_always_asked() {
    let mut list = String::new();
    for (name, json) in SPACES {
        let space = Space::from_json(json).unwrap();
        for algorithm in Algorithm::ALL {
            for (way, settings, batch) in ways(&space) {
                let digest = digest(&space, Settings { algorithm, ..settings }, batch);
                writeln!(list, "{digest:016x} {name}, {algorithm:?}, {way}").unwrap();
            }
        }
    }
    if std::env::var_os("AOE_WRITE_SEEDS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/seeds.txt"), &list).unwrap();
        return;
    }
    let differs: Vec<&str> = list.lines().filter(|line| !WRITTEN.lines().any(|written| written == *line)).collect();
    assert!(
        differs.is_empty() && list.lines().count() == WRITTEN.lines().count(),
        "these searches ask other trials than they did; where that is meant, \
         `AOE_WRITE_SEEDS=1 cargo test -p aoe-search seeds` writes the list anew: {differs:#?}"
    );
}
