// Untrusted clients: no certificate, a wrong one, too many at once, noise.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <future>

#include "tests/support/link_member.h"
#include "veche/comm/grid/identity/invitation.h"
#include "veche/comm/grid/links/address.h"
#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/links/tls.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

// A connection to a member with arbitrary key, certificate and bytes.
class Intruder {
 public:
  Intruder(const std::string& address, const KeyPair& key, const std::string& certificate,
           Time while_busy = Time(0)) {
    question_.while_busy = while_busy;
    question_.addresses = {address};
    question_.context = make_context(key, certificate, {});
    question_.verify = [](X509*, STACK_OF(X509)*) { return std::nullopt; };
    question_.limit = Time(10);
  }
  std::string ask(Service service, const std::string& text) {
    question_.service = service;
    question_.make = [&](const std::string&, const MemberId&) { return text; };
    const Message answer = ask_once(question_);
    return {answer.as<char>().begin(), answer.as<char>().end()};
  }

 private:
  OneQuestion question_;
};

// The variable TRIES sets the number (200).
int rounds_of_tries() {
  const char* given = std::getenv("TRIES");
  return (given == nullptr ? 200 : std::stoi(given)) / 5;
}

// Memory of this process; sanitizers keep freed memory.
std::size_t resident_bytes() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 0;
#else
  std::size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
#endif
}

TEST(Admission, NoCertificateButAMembersGetsAnAnswer) {
  const TestRun run, other;
  TestMember a(run);
  const std::string at = a.links.addresses().front();
  std::size_t resident = 0;
  const int rounds = rounds_of_tries();
  for (int i = 0; i < rounds; ++i) {
    if (i == rounds / 2) resident = resident_bytes();
    const KeyPair key = KeyPair::make();
    const auto refused = [&](const std::string& certificate, Service service) {
      EXPECT_THROW(Intruder(at, key, certificate).ask(service, "x"), RequestError);
    };
    refused(make_member(other.founder, key.get(), run.now), Service::piece);  // of another run
    refused(make_member(run.founder, key.get(), run.now - std::chrono::hours(30)),
            Service::piece);                               // expired
    refused(make_newcomer(key, run.now), Service::piece);  // a newcomer may only join
    const std::string good = make_member(run.founder, key.get(), run.now);
    refused(good, Service::join);  // a member must greet first
    a.trust->learn(revoke(a.trust->run(), key.id(), run.founder, run.now));
    refused(good, Service::piece);
    refused(make_newcomer(key, run.now), Service::join);  // revoked: not even that
  }
  EXPECT_TRUE(a.seen().requesters.empty()) << "nobody was listened to";
  EXPECT_LT(resident_bytes(), resident + (16U << 20)) << "what was refused is forgotten";
  const KeyPair key = KeyPair::make();
  EXPECT_EQ(Intruder(at, key, make_newcomer(key, run.now)).ask(Service::join, "please"), "you said please");
  EXPECT_THROW(Intruder(at, key, make_newcomer(key, run.now)).ask(Service::join, std::string(5000, 'x')),
               RequestError);
  EXPECT_EQ(a.seen().requesters, std::vector{key.id()});
}

TEST(Admission, ACertificateWithoutItsKeyIsWorthNothing) {
  const TestRun run;
  TestMember a(run), b(run);
  const std::string stolen = make_member(run.founder, b.key.get(), run.now);
  EXPECT_THROW(make_context(KeyPair::make(), stolen, {}), RunError) << "OpenSSL itself refuses the pair";
}

int plain_socket(const std::string& address) {
  const Address where = parse_address(address);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(where.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return fd;
}

TEST(Admission, HalfOpenConnectionsAreFewAndShort) {
  const TestRun run;
  LinkOptions few;
  few.half_open_of_address = 8;
  few.greeting = Time(1);
  TestMember a(run, few);
  std::vector<int> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(plain_socket(a.links.addresses().front()));
  for (const int fd : flood) {  // all are closed: those beyond the limit at once, the others after a second
    char byte = 0;
    EXPECT_LE(recv(fd, &byte, 1, 0), 0);
    close(fd);
  }
  TestMember b(run);
  link(a, b);
}

TEST(Admission, WhoComesWithTooManyOthersComesInAfterThem) {
  const TestRun run;
  LinkOptions few;
  few.half_open_of_address = 1;
  few.greeting = Time(1);
  TestMember a(run, few);
  const std::string at = a.links.addresses().front();
  const int first = plain_socket(at);  // sends nothing until it is closed
  std::vector<std::future<std::string>> requesters;
  for (int i = 0; i < 4; ++i)
    requesters.push_back(std::async(std::launch::async, [&] {
      const KeyPair key = KeyPair::make();
      return Intruder(at, key, make_newcomer(key, run.now), Time(60)).ask(Service::join, "me");
    }));
  for (auto& requester : requesters) EXPECT_FALSE(requester.get().empty());
  close(first);
}

TEST(Admission, NoiseIsClosed) {
  const TestRun run;
  TestMember a(run);
  for (int i = 0; i < 20; ++i) {
    const int fd = plain_socket(a.links.addresses().front());
    std::string noise(100, static_cast<char>(i * 13));
    EXPECT_EQ(send(fd, noise.data(), noise.size(), MSG_NOSIGNAL), 100);
    char bytes[256];
    while (recv(fd, bytes, sizeof bytes, 0) > 0) {
    }
    close(fd);
  }
}

}  // namespace
}  // namespace veche::grid
