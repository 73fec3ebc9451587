//! Three masters that share the slots.

use std::time::Duration;

use super::{Redis, Settings};
use crate::Failure;
use crate::server::eventually;

const NODES: usize = 3;
const SLOTS: usize = 16384;

/// A cluster of three masters without replicas.
#[derive(Debug)]
pub struct Cluster {
    /// Its nodes.
    pub nodes: Vec<Redis>,
}

impl Cluster {
    /// Starts it, and returns when every node says that the cluster is whole.
    pub fn start() -> Result<Self, Failure> {
        Cluster::with(Redis::with())
    }

    /// The same, with settings for every node.
    pub fn with(settings: Settings) -> Result<Self, Failure> {
        let settings = settings.cluster();
        let nodes = (0..NODES).map(|_| settings.clone().start()).collect::<Result<Vec<_>, _>>()?;
        for (index, node) in nodes.iter().enumerate() {
            let (first, last) = (index * SLOTS / NODES, (index + 1) * SLOTS / NODES - 1);
            node.ask(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()])?;
            node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
        }
        for node in &nodes[1..] {
            let (port, bus) = (node.place().port(0).to_string(), node.place().port(1).to_string());
            nodes[0].ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
        }
        let cluster = Cluster { nodes };
        let patience = Duration::from_secs(60);
        eventually(patience, || cluster.nodes.iter().all(is_whole))
            .ok_or_else(|| Failure::new(format!("the cluster was not whole within {patience:?}")))?;
        Ok(cluster)
    }

    /// The URLs of all nodes.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Redis::url).collect()
    }
}

fn is_whole(node: &Redis) -> bool {
    let facts = node.ask(&["CLUSTER", "INFO"]);
    let facts = facts.as_ref().ok().and_then(|facts| facts.text()).unwrap_or_default();
    facts.contains("cluster_state:ok") && facts.contains(&format!("cluster_known_nodes:{NODES}"))
}
