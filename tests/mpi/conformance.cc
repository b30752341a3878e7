// The conformance suite on the ranks of an MPI job, and what MPI does by itself.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/conformance/over_job.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/mpi/launch.h"
#include "veche/comm/neighbourhood.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

using testing::on_every_node;
using testing::on_every_rank;

TEST(MpiExecution, TheSlotIsGivenBackAroundEveryWait) {
  on_every_node([&](Endpoint& endpoint) {
    MessagePool pool;
    const int n = endpoint.size();
    endpoint.compute({}, [&] {
      endpoint.send(wrapped(endpoint.id().value + 1, n), Tag{1}, pool.make(10));
      EXPECT_EQ(endpoint.receive(wrapped(endpoint.id().value - 1, n), Tag{1}, Time(60)).outcome,
                Received::Outcome::message);
      std::vector<float> data(1000, 1.0F);
      EXPECT_EQ(endpoint.collectives()->all_reduce(Tag{2}, data, Time(60)).outcome,
                Received::Outcome::message);
      EXPECT_EQ(data.back(), static_cast<float>(n));
    });
  });
  // The others come to the exchange when a helper of the first has found a slot beside it.
  on_every_node(
      [&](Endpoint& endpoint) {
        MessagePool pool;
        const int n = endpoint.size();
        const std::vector<NodeId> next{wrapped(endpoint.id().value + 1, n)};
        const std::vector<NodeId> before{wrapped(endpoint.id().value - 1, n)};
        const auto neighbours = endpoint.collectives()->neighbourhood(before, next, 1000);
        if (endpoint.id() == NodeId{0})
          endpoint.spawn([&endpoint] {
            MessagePool own;
            endpoint.receive(endpoint.id(), Tag{1}, kForever);
            endpoint.compute({}, [&] {
              for (int i = 1; i < endpoint.size(); ++i) endpoint.send(NodeId{i}, Tag{2}, own.make(1));
            });
          });
        else
          EXPECT_EQ(endpoint.receive(NodeId{0}, Tag{2}, Time(60)).outcome, Received::Outcome::message);
        endpoint.compute({}, [&] {
          endpoint.send(endpoint.id(), Tag{1}, pool.make(1));
          EXPECT_EQ(neighbours->exchange(Time(60)).outcome, Received::Outcome::message);
        });
      },
      1);
}

// They would count beyond int, and take more memory than there is.
TEST(MpiEndpoint, NeighboursOfVeryLongVectorsUseMessages) {
  on_every_rank([](Endpoint& endpoint, MessagePool&) {
    const std::vector<NodeId> next{NodeId{(endpoint.id().value + 1) % endpoint.size()}};
    const std::vector<NodeId> before{NodeId{(endpoint.id().value + endpoint.size() - 1) % endpoint.size()}};
    EXPECT_EQ(endpoint.collectives()->neighbourhood(before, next, std::size_t{1} << 31), nullptr);
    EXPECT_NE(endpoint.collectives()->neighbourhood(before, next, 10), nullptr);
  });
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto joined = veche::join_launched_job();
  if (joined == nullptr) {
    std::cerr << "start it under mpirun\n";
    return 1;
  }
  return veche::testing::run_over(*joined);
}
