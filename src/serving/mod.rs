//! Language models as serving stacks run them: from a model's configuration to the kernels of prefill and decode, what
//! they take, and what could be done about it. The engine of `aoe llm`.
//!
//! | file | holds |
//! |---|---|
//! | `model/` | `config.json` as sizes |
//! | `deployment` | devices, quantisation, what the stack is told |
//! | `kernel`, `expand/` | the kernels of a step |
//! | `links`, `price` | what kernels and exchanges take |
//! | `load`, `figures` | batches and prompts as steps; time to the first token and for each output token |
//! | `records`, `ranges` | products tuned; which numbers of tokens to tune |
//! | `memory`, `levers` | whether it fits; what could be done instead |
//! | `study` | all of it at once |
//! | `profiled` | the same for what a profiler saw |

mod deployment;
mod expand;
mod figures;
mod kernel;
mod levers;
mod links;
mod load;
mod memory;
mod model;
mod price;
mod profiled;
mod ranges;
mod records;
mod study;
mod time;

pub use deployment::{Deployment, Quantization};
pub use expand::{Step, kernels};
pub use figures::{Decode, Figures, Prefill, Unfit};
pub use kernel::{Class, Exchange, Kernel, Pattern, Work};
pub use levers::{AS_IS, Lever, Unpriced};
pub use links::Links;
pub use load::Load;
pub use memory::Memory;
pub use model::{Attention, Experts, Model, Parameters, Window};
pub use price::{ClassTime, Priced, Pricer, StepTime};
pub use profiled::{Calibration, Profiled, Row, profiled};
pub use ranges::Choice;
pub use records::{Banks, Gain, Given, Largest, Reach, Tuned};
pub use study::{Launch, Launches, Report, Study};
pub use time::Time;
