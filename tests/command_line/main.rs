//! The program `aoe` as its users meet it, a file or folder for each of its commands.

mod answer;
mod bank;
mod closed;
mod llm;
mod model;
mod pages;
mod profiles;
mod shells;
mod simulate;
mod tiling;
mod tune;
