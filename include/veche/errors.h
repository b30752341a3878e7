#pragma once

#include <stdexcept>
#include <string>

#include "veche/export.h"
#include "veche/node_id.h"

namespace veche {

// What a program may catch. A message is one sentence for a person: it names the key, file or peer and what
// to do. See docs/errors.md for which failures are recoverable.
class VECHE_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The request was wrong: a key, value, file or graph. Thrown before anything is written; exit code 2.
class VECHE_API RequestError : public Error {
 public:
  using Error::Error;
};

// The run failed under way. Exit code 1; what was saved stays saved.
class VECHE_API RunError : public Error {
 public:
  using Error::Error;
};

// A peer whose message is needed is gone or did not answer in time.
class VECHE_API PeerLost : public RunError {
 public:
  PeerLost(NodeId peer, const std::string& why)
      : RunError("node " + std::to_string(peer.value) + " " + why), peer_(peer) {}
  NodeId peer() const { return peer_; }

 private:
  NodeId peer_;
};

}  // namespace veche
