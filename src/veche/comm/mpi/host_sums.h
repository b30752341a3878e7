#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "veche/comm/gathering.h"
#include "veche/comm/mpi/post_office.h"

namespace veche {

// Sums over all nodes where all ranks are on one host, through memory that MPI lets them share: as between
// threads, whoever is awake adds up, in the order of nodes, and waiting takes no core. Every node copies its
// vector in and the sum out, a part at a time, so that the parts stay in the caches. All nodes call in the
// same order.
class HostSums {
 public:
  // All ranks together. Nothing where ranks are on several hosts or get no memory to share.
  // The office may close before.
  static std::unique_ptr<HostSums> make(const PostOffice& office, MPI_Comm comm);
  // All ranks together.
  ~HostSums() { MPI_Win_free(&window_); }
  HostSums(const HostSums&) = delete;
  HostSums& operator=(const HostSums&) = delete;

  // Whether this is the quickest way for so many floats. Where every node has a core, MPI copies vectors of
  // middle length straight from one rank to the other, in the time that copying in and out takes here.
  bool is_best_for(std::size_t floats) const;

  // Data become the sum over all nodes; else who was missing.
  std::optional<Gathering::Missing> sum(NodeId node, std::span<float> data,
                                        Gathering::Clock::time_point deadline);
  // How long a node of this rank has slept in here since it last asked.
  Gathering::Clock::duration take_slept(NodeId node);

 private:
  class Part;
  struct Layout;
  HostSums(const PostOffice& office, MPI_Win window, const Layout& layout);
  struct Place {
    Gathering::Seat seat;
    std::vector<std::span<float>> parts;  // scratch
  };
  Place& place(NodeId node);

  const PostOffice& office_;
  const int first_here_;
  MPI_Win window_;
  std::vector<Place> places_;            // of the nodes here, each its own
  std::span<float> total_;               // shared, as the next
  std::vector<std::span<float>> slots_;  // one a node
  Gathering gathering_;
};

}  // namespace veche
