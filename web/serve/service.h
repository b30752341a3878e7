#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "veche/base/thread/mutex.h"
#include "veche/runtime/inference/trained_model.h"
#include "web/guard.h"
#include "web/http/http.h"
#include "web/serve/batcher.h"

namespace veche::web {

struct ServiceOptions {
  std::optional<NodeId> node = {};
  int threads = 1;
  Batcher::Limits limits = {};
};

// A trained model over HTTP (docs/serving.md):
//   POST /predict  an image: classes and probabilities of the served model; ?top=K of them
//   POST /nodes    the same for every node of the run, besides the average
//   GET  /model    description of the model and its input
//   GET  /health   whether it answers
//   GET  /metrics  counters for Prometheus
//   GET  /         a page to try it
class PredictionService : public HttpHandler {
 public:
  // Throws RequestError if there is no such model, or if it does not take images.
  PredictionService(const std::filesystem::path& place, const ServiceOptions& options, Guard guard);

  std::optional<HttpReply> admit(const HttpRequest& head) override;
  HttpReply answer(const HttpRequest& request) override;
  HttpReply refused(int status) override;
  const TrainedModel& model() const { return model_; }
  Batcher::Counts batches() const { return batcher_.counts(); }

 private:
  std::optional<HttpReply> route(const HttpRequest& head);
  HttpReply counted(HttpReply reply);
  HttpReply predict(const HttpRequest& request);
  HttpReply ask_nodes(const HttpRequest& request);
  HttpReply about() const;
  HttpReply metrics() const;
  std::vector<float> sample_of(const HttpRequest& request) const;

  static constexpr int kMostNodes = 64;  // more nodes are not shown

  const Guard guard_;
  TrainedModel model_;
  const PictureReader reader_;
  Batcher batcher_;

  Mutex nodes_mutex_;                                                  // one request to all nodes at a time
  std::optional<TrainedModel> others_ VECHE_GUARDED_BY(nodes_mutex_);  // loaded with one node after the other
  const std::filesystem::path place_;

  // Upper bounds of the latency histogram in seconds; the last one is infinite.
  static constexpr std::array<double, 8> kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5};
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> times_{};
  std::atomic<std::uint64_t> microseconds_ = 0;
  std::array<std::atomic<std::uint64_t>, 6> by_status_{};  // by hundreds of the status
};

}  // namespace veche::web
