#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "veche/base/thread/mutex.h"
#include "veche/data/table/row_encoder.h"
#include "veche/runtime/inference/trained_model.h"
#include "web/serve/batcher.h"
#include "web/serve/counted_service.h"
#include "web/serve/samples.h"

namespace veche::web {

struct ServiceOptions {
  std::optional<NodeId> node = {};
  int threads = 1;
  Batcher::Limits limits = {};
};

// A trained model over HTTP (docs/serving.md):
//   POST /predict  an image: classes and probabilities of the served model; ?top=K of them.
//                  Of a model of tables: a row {"column": value, ..}, or a list of rows
//   POST /nodes    the same of one image or row for every node of the run, besides the average
//   GET  /samples  some samples of the run's test set
//   GET  /model    description of the model and its input
//   GET  /health   whether it answers
//   GET  /metrics  counters for Prometheus
//   GET  /         a page to try it
class PredictionService : public CountedService {
 public:
  // Throws RequestError if there is no such model, or if it takes neither images nor rows.
  PredictionService(const std::filesystem::path& place, const ServiceOptions& options, Guard guard);

  HttpReply answer(const HttpRequest& request) override;
  const TrainedModel& model() const { return model_; }
  Batcher::Counts batches() const { return batcher_.counts(); }

 private:
  std::optional<HttpReply> route(const HttpRequest& head) override;
  HttpReply predict(const HttpRequest& request);
  HttpReply ask_nodes(const HttpRequest& request);
  HttpReply about() const;
  HttpReply metrics() const;
  std::vector<float> sample_of(const HttpRequest& request) const;
  HttpReply predict_rows(const HttpRequest& request, std::size_t top);

  static constexpr int kMostNodes = 64;  // more nodes are not shown

  TrainedModel model_;
  TestSamples samples_;
  const std::optional<PictureReader> reader_;  // of pictures
  const std::optional<RowEncoder> rows_;       // of the rows of a table
  Batcher batcher_;

  Mutex nodes_mutex_;                                                  // one request to all nodes at a time
  std::optional<TrainedModel> others_ VECHE_GUARDED_BY(nodes_mutex_);  // loaded with one node after the other
  const std::filesystem::path place_;

  // Upper bounds of the latency histogram in seconds; the last one is infinite.
  static constexpr std::array<double, 8> kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5};
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> times_{};
  std::atomic<std::uint64_t> microseconds_ = 0;
};

}  // namespace veche::web
