#include "web/guard.h"

#include <gtest/gtest.h>

#include <string>

namespace veche::web {
namespace {

HttpRequest asked(std::map<std::string, std::string> headers, std::map<std::string, std::string> query = {}) {
  return {"GET", "/", "", std::move(query), std::move(headers)};
}

TEST(Guard, OnThisMachineOnlyItsOwnNamesMayAsk) {
  const Guard guard("127.0.0.1", "");
  EXPECT_FALSE(guard.refuses(asked({{"host", "127.0.0.1:8080"}})));
  EXPECT_FALSE(guard.refuses(asked({{"host", "localhost:8080"}, {"origin", "http://localhost:8080"}})));
  EXPECT_FALSE(guard.refuses(asked({{"host", "[::1]:8080"}})));
  // Another site's name that resolves here, and another site's page.
  EXPECT_EQ(guard.refuses(asked({{"host", "evil.example:8080"}}))->status, 403);
  EXPECT_EQ(guard.refuses(asked({{"host", "localhost"}, {"origin", "http://evil.example"}}))->status, 403);
  EXPECT_EQ(guard.refuses(asked({{"host", "localhost"}, {"origin", "null"}}))->status, 403);
  EXPECT_EQ(guard.refuses(asked({}))->status, 403);
}

TEST(Guard, NamesThatLookLikeAddressesOfThisMachineAreOthers) {
  const Guard guard("127.0.0.1", "");
  for (const std::string host :
       {"127.0.0.1", "127.1.2.3:80", "LOCALHOST:1", "[::1]", "[::ffff:127.0.0.1]:80"}) {
    EXPECT_FALSE(guard.refuses(asked({{"host", host}}))) << host;
    EXPECT_FALSE(guard.refuses(asked({{"host", "localhost"}, {"origin", "http://" + host}}))) << host;
  }
  for (const std::string host :
       {"127.evil.com", "127.0.0.1.evil.com", "127.0.0.1.", "localhost.evil.com", "[::1].evil.com", "[::1",
        "127.0.0.1:80@evil.com", "127.0.0.1:", "127.0.0.1:80:80", "::1", "0.0.0.0", "128.0.0.1",
        "127.0.0.1\t", "127.0.0.1/", "", "user@localhost"}) {
    EXPECT_TRUE(guard.refuses(asked({{"host", host}}))) << host;
    EXPECT_TRUE(guard.refuses(asked({{"host", "localhost"}, {"origin", "http://" + host}}))) << host;
  }
  EXPECT_TRUE(guard.refuses(asked({{"host", "localhost"}, {"origin", "evil://localhost"}})));
  EXPECT_FALSE(is_loopback("127.evil.com"));
  // The requested name, in any notation.
  EXPECT_FALSE(Guard("::2", "").refuses(asked({{"host", "[0:0::2]:80"}})));
  EXPECT_FALSE(Guard("here", "").refuses(asked({{"host", "Here:80"}})));
}

TEST(Guard, ElsewhereTheTokenIsNeeded) {
  const std::string token = new_token();
  EXPECT_EQ(token.size(), 32U);
  EXPECT_NE(token, new_token());
  const Guard guard("0.0.0.0", token);
  EXPECT_EQ(guard.refuses(asked({{"host", "10.0.0.1:8080"}}))->status, 401);
  EXPECT_EQ(guard.refuses(asked({{"host", "localhost"}}, {{"token", token.substr(1)}}))->status, 401);
  EXPECT_FALSE(guard.refuses(asked({{"host", "10.0.0.1"}}, {{"token", token}})));
  EXPECT_FALSE(guard.refuses(asked({{"authorization", "Bearer " + token}})));
  EXPECT_EQ(guard.address(80), "http://HOST:80/?token=" + token);
}

TEST(Guard, SentencesAreJson) {
  EXPECT_EQ(refusal(400, "a \"b\"\n").body, "{\"error\":\"a \\\"b\\\"\\n\"}\n");
  EXPECT_EQ(refusal_of_server(413, 5'000'000).status, 413);
  EXPECT_TRUE(is_loopback("127.0.0.2"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
}

}  // namespace
}  // namespace veche::web
