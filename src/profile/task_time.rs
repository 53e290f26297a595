//! `task_time`: when each task ran.

use super::run::{Engine, Run};
use super::table::{DEVICE, Table, UNKNOWN, known, moment, us};

/// The table.
pub fn table(run: &Run) -> Table {
    let mut table = Table::with_header(
        "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)",
    );
    for (at, task) in run.tasks.iter().enumerate() {
        let kernel = run.kernel(task);
        let name = if kernel.engine.computes() { &kernel.launched } else { UNKNOWN };
        let [start, end] = run.span(task);
        table.push(vec![
            DEVICE.to_owned(),
            name.to_owned(),
            kernel_type(kernel.engine).to_owned(),
            task.stream.to_string(),
            at.to_string(),
            known(kernel.duration_us.map(us)),
            moment(start),
            moment(end),
        ]);
    }
    table
}

const fn kernel_type(engine: Engine) -> &'static str {
    match engine {
        Engine::AiCore => "KERNEL_AICORE",
        Engine::AiVectorCore => "KERNEL_AIVEC",
        Engine::MixAic => "KERNEL_MIX_AIC",
        Engine::Communication => "COMMUNICATION",
    }
}
