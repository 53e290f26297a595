//! What holds for networks and operators as wholes: their kernels, their prices, the records that they get.

mod bundled;
mod one_price;
mod onnx_models;
mod random_graphs;
mod records_that_run;
mod simulator_sanity;
mod subgraphs;
mod training_graphs;
