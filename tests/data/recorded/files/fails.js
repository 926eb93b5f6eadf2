module.exports = class { 
  id() { return 'shaky'; }
  async callApi(prompt) {
    if (prompt.startsWith('Another')) { return { error: 'the server gave up' }; }
    return { output: prompt.split(' ')[0] + ' texts', tokenUsage: {total: 7, prompt: 4, completion: 3}, cost: 0.001 };
  }
};
