// Draws the reference from this server's own document. Nothing is asked of any other server.
Scalar.createApiReference("#reference", {
  url: "/api/public/v1/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  proxyUrl: "",
  persistAuth: false,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
});
