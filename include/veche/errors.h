#pragma once

#include <stdexcept>
#include <string>

#include "veche/export.h"
#include "veche/node_id.h"

namespace veche {

// Base of the errors that a program may catch. The message is one sentence for a person: it names
// the key, file or peer and says what to do. docs/errors.md lists which failures are recoverable.
class VECHE_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The request is wrong: a key, value, file or graph. Thrown before anything is written. Exit code
// 2.
class VECHE_API RequestError : public Error {
 public:
  using Error::Error;
};

// The run failed after it started. Exit code 1. Everything saved so far stays saved.
class VECHE_API RunError : public Error {
 public:
  using Error::Error;
};

// A peer is gone, or did not answer in time, and its message is needed.
class VECHE_API PeerLost : public RunError {
 public:
  PeerLost(NodeId peer, const std::string& why)
      : RunError("node " + std::to_string(peer.value) + " " + why), peer_(peer) {}
  NodeId peer() const { return peer_; }

 private:
  NodeId peer_;
};

}  // namespace veche
