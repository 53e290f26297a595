//! The weights of a net (`.caffemodel`): what shapes the blobs of each layer have.
//!
//! The file is a `NetParameter` in binary form; layers are joined to those of the prototxt by name. Values are not
//! read, only counted, and passed on as they lie there.

use crate::graph::{Shape, UNKNOWN_DIM, Weight};
use crate::input_file;
use crate::status::{Error, Result};
use prost::Message;
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// `NetParameter`.
#[derive(Clone, PartialEq, Message)]
pub struct Net {
    /// Layers of the old form.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub layers: Vec<Bytes>,
    /// Layers.
    #[prost(bytes = "bytes", repeated, tag = "100")]
    pub layer: Vec<Bytes>,
}

/// `LayerParameter`.
#[derive(Clone, PartialEq, Message)]
pub struct Layer {
    #[prost(string, tag = "1")]
    pub name: String,
    /// [`Blob`]s.
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub blobs: Vec<Bytes>,
}

/// `V1LayerParameter`.
#[derive(Clone, PartialEq, Message)]
pub struct OldLayer {
    #[prost(string, tag = "4")]
    pub name: String,
    /// [`Blob`]s.
    #[prost(bytes = "bytes", repeated, tag = "6")]
    pub blobs: Vec<Bytes>,
}

/// `BlobProto`; the values are packed and stay so.
#[derive(Clone, PartialEq, Message)]
pub struct Blob {
    #[prost(message, optional, tag = "7")]
    pub shape: Option<BlobShape>,
    #[prost(bytes = "bytes", tag = "5")]
    pub data: Bytes,
    #[prost(bytes = "bytes", tag = "8")]
    pub double_data: Bytes,
    #[prost(int32, optional, tag = "1")]
    pub num: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub channels: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub height: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub width: Option<i32>,
}

/// `BlobShape`.
#[derive(Clone, PartialEq, Message)]
pub struct BlobShape {
    #[prost(int64, repeated, tag = "1")]
    pub dim: Vec<i64>,
}

/// One blob of a layer.
#[derive(Debug)]
pub struct Stored {
    /// Its sizes.
    pub dims: Vec<i64>,
    /// Its elements in float32, where the file has them.
    pub weight: Option<Weight>,
}

/// All blobs by layer.
#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    layers: FxHashMap<String, Vec<Stored>>,
}

impl Weights {
    /// Reads a file of weights.
    ///
    /// Fails with [`Error::File`] where it cannot be read, and with [`Error::Graph`] that names the file and the layer
    /// where it is damaged or contradicts itself.
    pub fn read(path: &Path) -> Result<Weights> {
        let limit = crate::frontend::limits::MAX_BYTES as u64;
        let data = Bytes::from(input_file::read(path, limit, "is larger than 2 GiB, the limit of protobuf")?);
        let place = format!("weights `{}`", path.display());
        let broken = |error: prost::DecodeError| Error::graph(&*place, format!("is no .caffemodel: {error}"));
        let net = Net::decode(data).map_err(broken)?;
        let new = net.layer.into_iter().map(|bytes| Layer::decode(bytes).map(|layer| (layer.name, layer.blobs)));
        let old = net.layers.into_iter().map(|bytes| OldLayer::decode(bytes).map(|layer| (layer.name, layer.blobs)));
        let mut layers = FxHashMap::default();
        for layer in new.chain(old) {
            let (name, blobs) = layer.map_err(broken)?;
            if blobs.is_empty() {
                continue;
            }
            let place = format!("{place}, layer `{name}`");
            let stored = |(index, bytes)| {
                stored(bytes).map_err(|reason| Error::graph(&*place, format!("blob {index} {reason}")))
            };
            let blobs = blobs.into_iter().enumerate().map(stored).collect::<Result<Vec<_>>>()?;
            if layers.insert(name, blobs).is_some() {
                return Err(Error::graph(place, "a second layer has the same name"));
            }
        }
        if layers.is_empty() {
            return Err(Error::graph(place, "is no .caffemodel: no layer in it has weights"));
        }
        Ok(Weights { path: path.to_owned(), layers })
    }

    /// The blobs of the layer of this name; none where the file has no such layer.
    pub fn of(&self, layer: &str) -> &[Stored] {
        self.layers.get(layer).map_or(&[], Vec::as_slice)
    }

    /// The file, for errors.
    pub fn place(&self) -> String {
        format!("`{}`", self.path.display())
    }
}

/// A blob, whose shape must go with the number of its values.
fn stored(bytes: Bytes) -> Result<Stored, String> {
    let blob = Blob::decode(bytes).map_err(|error| format!("is no blob with packed values: {error}"))?;
    let dims = match (&blob.shape, [blob.num, blob.channels, blob.height, blob.width]) {
        (Some(shape), _) => shape.dim.clone(),
        (None, [None, None, None, None]) => return Err("has no shape".to_owned()),
        (None, four) => four.map(|dim| i64::from(dim.unwrap_or(1))).to_vec(),
    };
    let shape = Shape::new(dims.as_slice());
    let elements = shape.elements().filter(|_| dims.iter().all(|&dim| dim > 0));
    let elements = elements.ok_or_else(|| format!("has the shape {shape}, which is none"))?;
    let values = if blob.data.is_empty() { blob.double_data.len() / 8 } else { blob.data.len() / 4 } as u64;
    // The values may have been taken out.
    if values != 0 && values != elements {
        return Err(format!("has {values} values for the shape {shape}"));
    }
    let weight = match (blob.data.is_empty(), blob.double_data.is_empty()) {
        (false, _) => Some(Weight::Bytes(blob.data)),
        (true, false) => {
            let (doubles, _) = blob.double_data.as_chunks();
            let singles = doubles.iter().flat_map(|&double| (f64::from_le_bytes(double) as f32).to_le_bytes());
            Some(Weight::Bytes(singles.collect::<Vec<u8>>().into()))
        }
        (true, true) => None,
    };
    Ok(Stored { dims, weight })
}

/// The shape of a weight of which the net states so much, from that of its blob; `None` where they contradict each
/// other. Old files state four sizes whatever the rank, the first ones being 1.
pub fn agreed(stated: &Shape, blob: &[i64]) -> Option<Shape> {
    let Some(dims) = stated.dims() else { return Some(Shape::new(blob)) };
    let surplus = blob.len().saturating_sub(dims.len());
    if blob[..surplus].iter().any(|&dim| dim != 1) {
        return None;
    }
    let blob = &blob[surplus..];
    let fits = blob.len() == dims.len() && dims.iter().zip(blob).all(|(&d, &b)| d == UNKNOWN_DIM || d == b);
    let single = blob.is_empty() && dims.iter().all(|&d| d == 1 || d == UNKNOWN_DIM);
    if fits { Some(Shape::new(blob)) } else { single.then(|| Shape::new(vec![1; dims.len()])) }
}
