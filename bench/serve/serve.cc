#include "bench/serve/serve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/rounds.h"
#include "veche/config.h"
#include "veche/data/formats/image/image.h"
#include "veche/errors.h"
#include "veche/random.h"
#include "veche/runtime/inference/assessment.h"
#include "veche/runtime/run/training.h"
#include "web/serve/service.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using ServeClock = std::chrono::steady_clock;

constexpr int kClients = 16;
constexpr std::size_t kPicturesAsked = 64, kForwardBatch = 32;
constexpr double kPromisedOfForward = 0.8;

// Binds this thread, and threads it starts, to these cores while it lives.
class OnCores {
 public:
  explicit OnCores(const cpu_set_t& cores) {
    sched_getaffinity(0, sizeof before_, &before_);
    sched_setaffinity(0, sizeof cores, &cores);
  }
  ~OnCores() { sched_setaffinity(0, sizeof before_, &before_); }
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  cpu_set_t before_{};
};

struct Cores {
  cpu_set_t service{}, clients{};
  Cores() {
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&service);
    CPU_ZERO(&clients);
    bool found = false;
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &all)) continue;
      CPU_SET(core, found ? &clients : &service);
      found = true;
    }
    if (CPU_COUNT(&clients) == 0) clients = service;  // they share the core then
  }
};

// A run of one step, for arbitrary weights.
class TrainedOnce {
 public:
  explicit TrainedOnce(const std::string& model)
      : folder_(fs::temp_directory_path() / fmt::format("veche-bench-serve-{}", getpid())) {
    Config config = Config::from_text(
        "[data]\nname = \"synthetic\"\nsamples = 64\ntest_samples = 8\nbatch = 8\n"
        "shape = [3, 32, 32]\n[cluster]\nnodes = 1\n[run]\nsteps = 1\nname = \"once\"\n"
        "[strategy]\nname = \"single\"\n");
    config.set("model.name=" + model);
    config.set("run.out=\"" + folder_.string() + "\"");
    TrainingRequest request;
    request.settings = config.resolve();
    run_training(request);
  }
  ~TrainedOnce() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path run() const { return folder_ / "once"; }

 private:
  const fs::path folder_;
};

std::vector<std::vector<std::uint8_t>> made_up_pictures() {
  RandomStream random(1, "bench serve");
  std::vector<std::vector<std::uint8_t>> pictures;
  for (std::size_t i = 0; i < kPicturesAsked; ++i) {
    Image image{32, 32, 3, std::vector<std::uint8_t>(3 * 32 * 32)};
    for (std::size_t k = 0; k < image.pixels.size(); ++k)  // smooth, like photographs
      image.pixels[k] = static_cast<std::uint8_t>((k / 96 * (i + 3) + k % 96 * 2 + random.next() % 8) % 256);
    pictures.push_back(encode_jpeg(image, 90));
  }
  return pictures;
}

// A persistent connection: sends images and reads the label of the answer.
class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw RunError("bench serve: the service cannot be reached");
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::size_t ask(std::span<const std::uint8_t> picture) {
    std::string request = fmt::format(
        "POST /predict?top=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n", picture.size());
    request.append(reinterpret_cast<const char*>(picture.data()), picture.size());
    for (std::size_t sent = 0; sent < request.size();) {
      const ssize_t count = ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) throw RunError("bench serve: the service hung up");
      sent += static_cast<std::size_t>(count);
    }
    std::string reply;
    for (char piece[4096];;) {
      const ssize_t count = ::recv(socket_, piece, sizeof piece, 0);
      if (count <= 0) throw RunError("bench serve: the service hung up");
      reply.append(piece, static_cast<std::size_t>(count));
      const std::size_t end = reply.find("\r\n\r\n"), length = reply.find("Content-Length: ");
      if (end == std::string::npos || length == std::string::npos) continue;
      if (reply.size() >= end + 4 + std::stoul(reply.substr(length + 16)))
        return nlohmann::json::parse(reply.substr(end + 4)).at("label").get<std::size_t>();
    }
  }

 private:
  const int socket_;
};

// All clients together request this many images; returns their rate.
double ask_all(int port, const Cores& cores, const std::vector<std::vector<std::uint8_t>>& pictures,
               const std::vector<std::size_t>& labels, std::size_t count) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> wrong = false;
  const auto start = ServeClock::now();
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i)
      clients.emplace_back([&] {
        const OnCores there(cores.clients);
        try {
          Client client(port);
          for (std::size_t k = next++; k < count; k = next++)
            if (client.ask(pictures[k % pictures.size()]) != labels[k % pictures.size()]) wrong = true;
        } catch (const std::exception&) {
          wrong = true;
        }
      });
  }
  if (wrong) throw RunError("bench serve: an answer is not the model's");
  return static_cast<double>(count) / std::chrono::duration<double>(ServeClock::now() - start).count();
}

BenchCase measure_serving(const std::string& model_name, const BenchOptions& options) {
  const TrainedOnce run(model_name);
  const Cores cores;
  const OnCores here(cores.service);
  TrainedModel model(run.run());
  const auto pictures = made_up_pictures();
  const PictureReader reader(model.input());
  const auto classes = static_cast<std::size_t>(model.classes());
  std::vector<float> images, probabilities(kForwardBatch * classes);
  std::vector<std::size_t> labels;
  for (const auto& picture : pictures) {
    const std::vector<float> sample = reader.read(picture);
    images.insert(images.end(), sample.begin(), sample.end());
    std::vector<float> answer(classes);
    model.predict(sample, answer);
    labels.push_back(best_of(answer));
  }
  const std::size_t batch = kForwardBatch * model.input().shape.size();

  web::PredictionService service(run.run(), {}, web::Guard("127.0.0.1", ""));
  const auto server = web::start_http_server({}, service);
  const std::size_t count = options.quick ? 64 : 1024;
  ask_all(server->port(), cores, pictures, labels, 64);
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 3 : options.rounds); ++round) {
    rounds.ours(ask_all(server->port(), cores, pictures, labels, count));
    const auto start = ServeClock::now();
    for (std::size_t done = 0; done < count; done += kForwardBatch)
      model.predict(std::span<const float>(images).subspan(done / kForwardBatch % 2 * batch, batch),
                    probabilities);
    rounds.theirs(
        0, static_cast<double>(count) / std::chrono::duration<double>(ServeClock::now() - start).count());
  }
  BenchCase result =
      rounds.result(0, fmt::format("{} served to {} clients", model_name, kClients), "images/s",
                    fmt::format("forward, batch {}", kForwardBatch), kPromisedOfForward);
  const web::Batcher::Counts counts = service.batches();
  result.note = fmt::format("{:.1f} pictures a batch",
                            static_cast<double>(counts.images) / static_cast<double>(counts.batches));
  return result;
}

}  // namespace

std::vector<BenchCase> bench_serve(const BenchOptions& options) {
  return {measure_serving("resnet20", options)};
}

}  // namespace veche
