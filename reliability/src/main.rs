//! Campaigns that a test cannot wait for. `aoe-reliability help` lists them.
#![forbid(unsafe_code)]

mod campaign;
#[cfg(aoe_interleavings)]
mod orders;
mod world;

use campaign::Campaign;
use std::process::ExitCode;

const HELP: &str = "\
Usage: aoe-reliability CAMPAIGN [--seeds=N] [--from=SEED] [--seed=SEED] [--plant=FAULT] [--threads=N]

Campaigns:
  banks   processes that write one to three banks and merge them, in a simulated world: every order of their steps, crashes, faults of the disk
  orders  threads on the fork word, one session, the tables and one bank: all orders of their steps; where there are too
          many, --seeds of them. Needs a build with --cfg aoe_interleavings

  --seeds=N      worlds to run (10000)
  --from=SEED    the first of them (0)
  --seed=SEED    this one alone, told step by step
  --plant=FAULT  leave something out, which has to be found out: contents, directories, locks, merge, versions in
                 banks; torn, shared in orders
  --threads=N    worlds at once (the processors)

The exit status is 0 where nothing was found, or where what was planted was; 1 otherwise; 2 for wrong arguments.
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "help".to_owned());
    let campaign = match Campaign::of(arguments) {
        Ok(campaign) => campaign,
        Err(wrong) => return refuse(&wrong),
    };
    match name.as_str() {
        "banks" => campaign.run("banks", world::find),
        #[cfg(aoe_interleavings)]
        "orders" => orders::run(&campaign),
        #[cfg(not(aoe_interleavings))]
        "orders" => refuse("`orders` needs a program built with RUSTFLAGS=\"--cfg aoe_interleavings\""),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        other => refuse(&format!("`{other}` is no campaign")),
    }
}

fn refuse(wrong: &str) -> ExitCode {
    eprintln!("{wrong}\n\n{HELP}");
    ExitCode::from(2)
}
